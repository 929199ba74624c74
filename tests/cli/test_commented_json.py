"""One entry goes into settings that people write by hand, and out again: the rest stays to the letter."""

from __future__ import annotations

import pytest

from cellwright.cli.commented_json import read_commented, with_member, without_member
from cellwright.errors import UserError

ENTRY = {"command": "c", "args": ["mcp"]}
KEPT = [
    "{}",
    '{"a": 1}\n',
    '{\n  // mine: "x"\n  "a": [1, {"b": 2,},], /* } */\n}\n',
    '{"servers":{"x":{"command":"y"}},"z":"//no, \\" { no"}\n',
    '{\n  "servers": {\n    "x": 1,\n  },\n  "q": "}" // {\n}\n',
    '\n// head\n{\n\t"servers": {\n\t\t"x": null\n\t}\n}',
]


@pytest.mark.parametrize("text", KEPT)
def test_an_entry_goes_in_and_out_and_all_else_is_as_it_was(text: str) -> None:
    changed = with_member(text, "servers", "ours", ENTRY)
    before = read_commented(text)
    assert read_commented(changed) == {**before, "servers": {**before.get("servers", {}), "ours": ENTRY}}
    assert with_member(changed, "servers", "ours", ENTRY) == changed
    assert without_member(changed, "servers", "ours") == text
    assert without_member(text, "servers", "ours") == text


def test_only_the_entry_is_replaced_and_taken_out_where_it_was_before() -> None:
    text = '{"servers": {"ours": 3, /* theirs */ "b": 1}}'
    changed = with_member(text, "servers", "ours", [])
    assert changed == '{"servers": {"ours": [], /* theirs */ "b": 1}}'
    assert read_commented(without_member(changed, "servers", "ours")) == {"servers": {"b": 1}}


def test_an_empty_file_gets_a_whole_object() -> None:
    changed = with_member("", "servers", "ours", ENTRY)
    assert read_commented(changed) == {"servers": {"ours": ENTRY}}
    assert read_commented(without_member(changed, "servers", "ours")) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"servers": []}', '{"a": 1, "a": 2}x', '{"servers": {}, "servers": {}}'])
def test_what_is_wrong_or_in_doubt_is_told(text: str) -> None:
    with pytest.raises(UserError):
        with_member(text, "servers", "ours", ENTRY)
