"""How a project's roles and skills look. What the project wrote is printed as it is: no markup, nothing invisible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from cellwright.cli.render.console import line, note, people
from cellwright.policy.display_text import shown, shown_block


def project(found: Mapping[str, Any]) -> None:
    """What counts, and all of what does not yet."""
    if not found["accepted"] and not found["offered"]:
        note("The project brings along no roles and no skills.")
    for addition in found["accepted"]:
        line(f"accepted  {addition['kind']} {addition['name']}  {shown(addition['path'])}")
    for addition in found["offered"]:
        line(f"{addition['state']:<8}  {addition['kind']} {addition['name']}  {shown(addition['path'])}")
    if found["what"]:
        line(f"\n{shown_block(found['what'])}\nFingerprint: {found['fingerprint']}")


def question(found: Mapping[str, Any]) -> None:
    """The same, for the person about to accept it."""
    people.print(Text(shown_block(found["what"])), soft_wrap=True)


def acceptances(found: Sequence[Mapping[str, Any]]) -> None:
    """One line each."""
    if not found:
        note("Nothing is accepted: agents go by our own roles.")
    for each in found:
        line(f"{shown(each['project'])}  {shown(each['path'])}, said {shown(each['by'])} on {each['at'][:10]}")
