"""Drafts: what is shown of an answer while it is made, to whoever looks, however seldom."""

from __future__ import annotations

import json
from itertools import pairwise

import anyio
import pytest
from inline_snapshot import snapshot

from cellwright.agents.draft_sections import DraftSection, sections_of_call
from cellwright.agents.drafts import DraftCursor, Drafts, DraftView, views_after
from tests.agents.driver import MASKER, SECRET

AGENT = "r/agent:1"
WORDS = "I look at the orders first, then at the customers, and then at what both have in common. "


def code_of(arguments: str) -> list[tuple[str, str]]:
    return [(each.title, each.text) for each in sections_of_call(1, "apply", arguments)]


def test_the_code_of_every_cell_is_read_from_half_a_call() -> None:
    edits = [
        {"op": "create", "name": "total", "code": 'total = "é"\n1 / 3'},
        {"op": "create", "code": "x", "name": "y"},
    ]
    whole = json.dumps({"edits": edits, "run": "all"})
    seen = [code_of(whole[:end]) for end in range(len(whole) + 1)]
    assert seen[0] == [("apply", "")]
    assert seen[-1] == [("total", 'total = "é"\n1 / 3'), ("y", "x")]
    for before, after in pairwise(seen):
        assert all(new[1].startswith(old[1]) for old, new in zip(before, after, strict=False))


@pytest.mark.parametrize("arguments", ["", "{", "[[[[[[[[[[", "no JSON", '{"code": 5}', "null", '{"edits": [{"co'])
def test_arguments_that_are_no_call_show_only_that_one_is_made(arguments: str) -> None:
    assert sections_of_call(2, "apply", arguments) == (DraftSection(kind="call", call=2, title="apply"),)


async def test_a_follower_is_told_everything_and_then_what_is_added() -> None:
    drafts = Drafts()
    draft = drafts.begin(AGENT, 3, MASKER)
    draft.begin_part(0, tool=None, text=WORDS)
    cursor = DraftCursor(drafts=drafts, run="r")
    first = cursor.changes(is_first=True)
    draft.begin_part(1, tool="apply", text='{"edits": [{"name": "total", "code": "')
    draft.add(1, "total = 1")
    more = cursor.changes()
    assert first is not None
    assert more is not None
    assert first["drafts"][0]["sections"][0]["text"] == WORDS[:-32]
    assert [(each["section"], each["at"]) for each in more["drafts"][0]["sections"]] == [(0, len(WORDS) - 32), (1, 0)]
    assert cursor.changes() is None
    draft.finish()
    last = cursor.changes()
    assert last is not None
    views = views_after(views_after(views_after((), first), more), last)
    assert views == (draft.view,)
    assert views[0].sections == snapshot(
        (
            DraftSection(kind="words", text=WORDS),
            DraftSection(kind="code", call=1, title="total", text="total = 1"),
        )
    )


async def test_pieces_told_twice_or_with_a_gap_change_nothing() -> None:
    drafts = Drafts()
    draft = drafts.begin(AGENT, 1, MASKER)
    draft.begin_part(0, tool=None, text=WORDS)
    cursor = DraftCursor(drafts=drafts, run="r")
    first = cursor.changes(is_first=True)
    draft.add(0, WORDS)
    more = cursor.changes()
    assert first is not None
    assert more is not None
    views = views_after(views_after((), first), more)
    assert views_after(views, more) == views
    late = more | {"is_first": True}
    assert views_after((), late)[0].sections == ()


async def test_another_attempt_is_another_draft() -> None:
    drafts = Drafts()
    draft = drafts.begin(AGENT, 1, MASKER)
    draft.begin_part(0, tool=None, text=WORDS)
    cursor = DraftCursor(drafts=drafts, run="r")
    views = views_after((), cursor.changes(is_first=True) or {})
    draft.restart()
    draft.begin_part(0, tool=None, text=WORDS.upper())
    after = views_after(views, cursor.changes() or {})
    assert after[0].draft != views[0].draft
    assert WORDS.upper().startswith(after[0].sections[0].text)


async def test_what_is_discarded_is_over_for_whoever_saw_it() -> None:
    drafts = Drafts()
    drafts.begin(AGENT, 1, MASKER)
    cursor = DraftCursor(drafts=drafts, run="r")
    views = views_after((), cursor.changes(is_first=True) or {})
    assert [view.agent for view in views] == [AGENT]
    drafts.discard(AGENT)
    assert views_after(views, cursor.changes() or {}) == ()
    assert drafts.of("r") == ()


async def test_a_secret_cut_in_pieces_is_in_nothing_a_follower_is_told() -> None:
    drafts = Drafts()
    draft = drafts.begin(AGENT, 1, MASKER)
    arguments = json.dumps({"edits": [{"name": SECRET, "code": f"login('{SECRET}')\n" * 3}]})
    cursor, told = DraftCursor(drafts=drafts, run="r"), list[object]()
    draft.begin_part(0, tool=None, text="")
    for character in f"The password is {SECRET}, or so I think. " * 3:
        draft.add(0, character)
        told.append(cursor.changes())
    draft.begin_part(1, tool="apply", text="")
    for character in arguments:
        draft.add(1, character)
        told.append(cursor.changes())
    draft.finish()
    told.append(cursor.changes())
    assert SECRET[:8] not in json.dumps(told)
    assert json.dumps(told).count("[masked PASSWORD]") >= 6


async def test_a_draft_has_an_end_however_long_the_answer() -> None:
    drafts = Drafts()
    draft = drafts.begin(AGENT, 1, MASKER)
    draft.begin_part(0, tool=None, text="")
    for _ in range(100):
        draft.add(0, "word " * 1_000)
    draft.finish()
    assert len(draft.view.sections[0].text) == 64_000


async def test_who_waits_is_woken_once_for_many_pieces_and_not_for_other_runs() -> None:
    drafts = Drafts()
    draft, other = drafts.begin(AGENT, 1, MASKER), drafts.begin("other/agent:1", 1, MASKER)
    cursor, looks = DraftCursor(drafts=drafts, run="r"), list[DraftView]()
    cursor.changes(is_first=True)
    draft.begin_part(0, tool=None, text="")
    with anyio.fail_after(5):
        for _ in range(1_000):
            draft.add(0, "word ")
        await cursor.wait()
        cursor.changes()
        looks.append(draft.view)
    other.begin_part(0, tool=None, text="not for them")
    with anyio.move_on_after(0) as quiet:
        await cursor.wait()
    assert quiet.cancelled_caught
    assert len(looks[0].sections[0].text) > 4_900
