"""What a check from scratch found, for somebody at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from cellwright.cli.render import console


def show_verification(view: Mapping[str, Any]) -> None:
    """Reasons against it first, then each check, then what the proof says."""
    for reason in view["reasons"]:
        say("✗", reason["text"], "red")
        if reason["hint"]:
            console.people.print(Text(f"  hint: {reason['hint']}", style="cyan"), soft_wrap=True)
    for check in view["checks"]:
        is_good = check["outcome"] in ("passed", "skipped")
        say("✓" if is_good else "✗", f"check {check['name']}: {check['outcome']}", "green" if is_good else "red")
    for test in view.get("hollow", ()):
        say("!", f"hollow: {test['says']}", "yellow")
    for finding in view["lint"]:
        if finding["severity"] == "formatting":
            say("!", f"line {finding['line']}: {finding['message']} ({finding['code']})", "yellow")
    if view["verified"]:
        _show_proof(view)
    else:
        say("✗", "not verified", "bold red")


def _show_proof(view: Mapping[str, Any]) -> None:
    environment, names = view["environment"], [one["path"] for one in view["data"]]
    packages = f"{len(environment['packages'])} packages"
    source = f"{packages} from its header" if environment["has_header"] else f"no header: Cellwright's own {packages}"
    say("✓", view["proof"]["proof"]["determinism"], "green")
    say("✓", f"Python {environment['python']}; {source}", "green")
    if environment["note"]:
        say("!", environment["note"], "yellow")
    say("✓", f"data: {', '.join(names[:10]) or 'none'}{' …' if len(names) > 10 else ''}", "green")
    if more := view.get("more_exchanges", 0):
        named = len(view["exchanges"])
        say("!", f"of the answers of object stores and APIs {named:,} are named, and {more:,} more are not", "yellow")
    say("✓", f"verified, and signed with key {view['fingerprint']}", "bold green")


def say(mark: str, text: str, style: str) -> None:
    """One line with its mark."""
    console.results.print(Text.assemble((mark, style), " ", text), soft_wrap=True)
