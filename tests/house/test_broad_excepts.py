"""`except Exception` stands only where anything may be raised and somebody has to answer for it: the list below."""

from __future__ import annotations

import ast
import re
from typing import Final

from tests.house.places import SOURCE, modules

ALLOWED: Final = {
    # An interface answers whatever happens: a request, a task that nobody awaits, a provider's SDK. Of the last,
    # `failure_of` raises again what is no failure of a provider.
    "interface": (
        "cellwright/app/live_notebooks.py",
        "cellwright/data/web_worker/conversation.py",
        "cellwright/data/worker/conversation.py",
        "cellwright/kernel/process/host_calls.py",
        "cellwright/kernel/session/call_runner.py",
        "cellwright/models/gateway/call_executor.py",
        "cellwright/models/gateway/call_plan.py",
        "cellwright/data/broker/server.py",
        "cellwright/models/gateway/gateway.py",
        "cellwright/models/gateway/model_probe.py",
        "cellwright/models/gateway/openai_http.py",
        "cellwright/models/providers/providers.py",
        "cellwright/models/routing/fallback.py",
        "cellwright/sandbox/egress/proxy.py",
        "cellwright/server/daemon/daemon.py",
        "cellwright/server/editor/gateway.py",
        "cellwright/server/editor/mirror.py",
        "cellwright/server/http/auth/middleware.py",
        "cellwright/server/http/routes/notebook_edits.py",
        "cellwright/telemetry.py",
        "cellwright/tools/mcp/opening.py",
        "cellwright/tools/mcp/tool_servers.py",
    ),
    "tool call": ("cellwright/tools/callers.py",),
    "journal step": (
        "cellwright/journal/engine.py",
        "cellwright/journal/values.py",
    ),
    # Beside a notebook's own code, which may raise anything.
    "guest loop": (
        "cellwright/tools/actions/inside/loop.py",
        "cellwright_guest/driver.py",
        "cellwright_guest/functions.py",
        "cellwright_guest/jupyter/value_digest.py",
        "cellwright_guest/previews/preview.py",
        "cellwright_guest/previews/things.py",
        "cellwright_guest/previews/time_limit.py",
        "cellwright_guest/reports.py",
        "cellwright_guest/transfer/exporter.py",
        "cellwright_guest/transfer/variable_transfer.py",
        "cellwright_guest/variable_facts.py",
    ),
    # The last frame of a process or of a thread.
    "process main": (
        "cellwright/journal/recovery.py",
        "cellwright/sandbox/cage/fallback_tiers.py",
        "cellwright/sandbox/cage/init.py",
        "cellwright/sandbox/host/probes.py",
        "cellwright/server/__main__.py",
    ),
    # Kept, and raised again outside a task group.
    "raised again": (
        "cellwright/cli/run/watch.py",
        "cellwright/journal/flow.py",
        "cellwright/journal/log.py",
        "cellwright/models/client/gateway_client.py",
    ),
}


def has_broad_handler(source: str) -> bool:
    """Whether some handler takes everything, and does not end by raising it again as it is."""
    if re.search(r"except\b(\s*:|.*Exception\b)", source) is None:
        return False
    handlers = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler)]
    return any(_is_broad(one) and not _ends_by_raising_it(one) for one in handlers)


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or ast.unparse(kind) in {"Exception", "BaseException"} for kind in kinds)


def _ends_by_raising_it(handler: ast.ExceptHandler) -> bool:
    return isinstance(last := handler.body[-1], ast.Raise) and last.exc is None


def test_everything_is_caught_only_in_the_modules_of_the_list() -> None:
    found = {path.relative_to(SOURCE).as_posix() for path in modules(SOURCE) if has_broad_handler(path.read_text())}
    assert sorted(found) == sorted(module for of_kind in ALLOWED.values() for module in of_kind)


def test_what_is_cleaned_up_and_raised_again_needs_no_place_in_the_list() -> None:
    assert has_broad_handler("try: f()\nexcept (OSError, Exception): pass")
    assert has_broad_handler("try: f()\nexcept: pass")
    assert has_broad_handler("try: f()\nexcept BaseException as e:\n raise Other from e")
    assert not has_broad_handler("try: f()\nexcept BaseException:\n g()\n raise")
    assert not has_broad_handler("try: f()\nexcept OSError: pass")
