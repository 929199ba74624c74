"""What is told of events, by itself: where a cell stands, and what a card shows of what is asked."""

from __future__ import annotations

from typing import Any

from cellwright.server.acp.questions import card_of, options_of
from cellwright.server.acp.updates import line_of

SOURCE = "import marimo\n\n@app.cell\ndef total(x):\n    return\n\n@app.cell\nasync def later():\n    return\n"


def a_question(what: str) -> dict[str, Any]:
    return {
        "id": "q#1",
        "what": what,
        "offers": ["once", "run", "always", "no"],
        "fingerprint": "f",
        "topic": "approval",
    }


def test_a_cell_is_found_at_its_line() -> None:
    assert [line_of(name, SOURCE) for name in ("total", "later", "tot", "_")] == [4, 8, None, None]


def test_what_a_card_cannot_show_whole_can_only_be_refused_there() -> None:
    assert [each.kind for each in options_of(a_question("short"))] == ["allow_once", "allow_always", "reject_once"]
    long = a_question("x" * 4_001)
    assert [each.kind for each in options_of(long)] == ["reject_once"]
    assert "1 more characters" in (card_of(long).title or "")
