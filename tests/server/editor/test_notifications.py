from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import msgspec
import pytest
from marimo._messaging.notification import NotificationMessage
from marimo._session.state.session_view import SessionView

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.editor.notifications import MAX_BYTES, SPOKEN, RetainedOutput, admitted
from tests.server.editor.visitor import Visits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

FORGER = """
import json as _json
from marimo._runtime.context import get_context as _context
_forged = {forged}
_context().stream.write(_json.dumps(_forged).encode())
done = True
"""


def ops(kinds: Any) -> set[str]:
    return {kind.__struct_config__.tag for kind in kinds.__args__}


def test_a_kernel_may_only_say_what_kernels_say() -> None:
    refused = ops(NotificationMessage) - ops(SPOKEN)
    assert {"notebook-document-transaction", "kernel-ready", "reload", "secret-keys-result", "banner"} <= refused
    for op in refused:
        assert admitted(msgspec.json.encode({"op": op, "cell_id": "a"}), lambda cell: True) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"op": "cell-op"}',
        b'{"op": "cell-op", "cell_id": 7}',
        b'{"op": ["cell-op"]}',
        b'{"op": "nothing-known"}',
        pytest.param(b'{"op": "variables", "variables": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep"),
    ],
)
def test_whatever_is_no_notification_is_dropped(body: bytes) -> None:
    assert admitted(body, lambda cell: True) is None


def test_a_notification_beyond_the_largest_is_dropped() -> None:
    assert (
        admitted(b'{"op": "alert", "title": "' + b"x" * MAX_BYTES + b'", "description": ""}', lambda cell: True) is None
    )


def test_nothing_is_said_of_a_cell_that_is_not_there() -> None:
    body = b'{"op": "cell-op", "cell_id": "gone", "status": "idle"}'
    assert admitted(body, lambda cell: False) is None
    assert admitted(body, lambda cell: True) is not None


@pytest.mark.slow
def test_what_is_kept_for_those_who_join_is_bounded_whatever_a_kernel_says() -> None:
    view = SessionView()
    retained = RetainedOutput(view)
    for number in range(40):
        body = msgspec.json.encode(
            {
                "op": "model-lifecycle",
                "model_id": f"m{number}",
                "message": {
                    "method": "open",
                    "state": {"x": "y" * (10 << 20)},
                    "buffer_paths": [],
                    "buffers": [],
                    "esm_spec": None,
                },
            }
        )
        notification = admitted(body, lambda cell: True)
        assert notification is not None
        assert retained.before(notification, len(body))
        view.add_notification(notification)
    assert len(view.model_states) < 14


async def test_a_forged_change_of_the_document_reaches_neither_the_document_nor_a_page(
    opened: Opener, visit: Visits
) -> None:
    forged = {
        "op": "notebook-document-transaction",
        "transaction": {
            "changes": [{"type": "create-cell", "cellId": "evil", "code": "evil = 1", "name": "_", "config": {}}],
            "source": "code-mode",
        },
    }
    async with opened(FORGER.format(forged=forged)) as notebook:
        before = notebook.path.read_text()
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            await notebook.run("all")
            passed: list[str] = []
            with anyio.fail_after(120):
                while "completed-run" not in passed:
                    passed.append(msgspec.json.decode(await frames.socket.recv())["op"])
            assert "cell-op" in passed
            assert "notebook-document-transaction" not in passed
        assert len(notebook.document.cells) == 1
        assert notebook.path.read_text() == before
