"""Drafts: answers while a model makes them, in the memory of the process that executes runs and nowhere else.

The record of an answer is the journal's; a draft only shows a person what is on its way. An agent has one at a time.
Writing costs next to nothing: what may be shown is worked out when somebody looks, once for all who look, and whoever
looks seldom gets more at once. Light: whoever only follows drafts need not wait for what agents load.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from cellwright.agents.draft_sections import MAX_SECTIONS, DraftSection, sections_of_call
from cellwright.journal.names import run_of
from cellwright.policy.masking.masker import Masker
from cellwright.policy.masking.stream_mask import StreamMask

_MAX_CHARACTERS: Final = 64_000
"""Limit of a draft; of a longer answer its beginning is shown."""
MIN_INTERVAL_SECONDS: Final = 0.05
"""Minimum interval between two looks of one follower."""


@dataclass(slots=True, kw_only=True)
class _DraftPart:
    """One part of the answer as the model sends it: text, or the arguments of a call."""

    tool: str | None
    """None: text."""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftView:
    """What may be shown of an answer so far."""

    agent: str
    """The workflow of whoever is answered."""
    step: int
    draft: str
    """Which draft it is; another attempt is another one."""
    is_done: bool = False
    """The answer is there; its record follows."""
    sections: tuple[DraftSection, ...] = ()


class AnswerDraft:
    """One answer that is being made."""

    def __init__(self, drafts: Drafts, agent: str, step: int, masker: Masker) -> None:
        self._drafts = drafts
        self._agent = agent
        self._step = step
        self._masker = masker
        self._id = secrets.token_hex(4)
        self._parts: dict[int, _DraftPart] = {}
        self._masks: list[StreamMask] = []
        self._characters = self._changes = 0
        self._is_done = False
        self._view: DraftView | None = None

    def restart(self) -> None:
        """Another attempt begins from nothing."""
        self._id = secrets.token_hex(4)
        self._parts, self._masks, self._characters = {}, [], 0
        self._change()

    def begin_part(self, index: int, *, tool: str | None, text: str) -> None:
        """A part begins: text, or a call of this tool."""
        self._parts[index] = _DraftPart(tool=tool)
        self.add(index, text)

    def add(self, index: int, text: str) -> None:
        """More of a part."""
        # Parts come after each other; one that went on behind the next would be shown as if it were whole.
        if not self._parts or index != next(reversed(self._parts)):
            return
        part = self._parts[index]
        more = text[: _MAX_CHARACTERS - self._characters]
        part.text += more
        self._characters += len(more)
        self._change()

    def finish(self) -> None:
        """The answer is whole."""
        self._is_done = True
        self._change()

    @property
    def is_done(self) -> bool:
        """Whether the answer is whole."""
        return self._is_done

    @property
    def mark(self) -> tuple[str, int]:
        """Changes whenever the draft does."""
        return self._id, self._changes

    @property
    def view(self) -> DraftView:
        """What may be shown now."""
        if self._view is None:
            sections = tuple(self._masked(self._raw_sections()))
            self._view = DraftView(
                agent=self._agent, step=self._step, draft=self._id, is_done=self._is_done, sections=sections
            )
        return self._view

    def _change(self) -> None:
        self._changes += 1
        self._view = None
        self._drafts.changed(self._agent)

    def _raw_sections(self) -> list[DraftSection]:
        found, call = list[DraftSection](), 0
        for part in self._parts.values():
            if part.tool is None:
                found.append(DraftSection(kind="words", text=part.text))
            else:
                call += 1
                found += sections_of_call(call, part.tool, part.text)
        return found[:MAX_SECTIONS]

    def _masked(self, found: list[DraftSection]) -> list[DraftSection]:
        self._masks += [StreamMask(self._masker) for _ in found[len(self._masks) :]]
        last = len(found) - 1
        return [
            DraftSection(
                kind=each.kind,
                call=each.call,
                title=self._masker.mask(each.title).text,
                # Only the last one still grows.
                text=mask.show(each.text, is_whole=self._is_done or place < last),
            )
            for place, (each, mask) in enumerate(zip(found, self._masks, strict=False))
        ]


class Drafts:
    """The drafts of all agents at work in this process."""

    def __init__(self) -> None:
        self._by_run: dict[str, dict[str, AnswerDraft]] = {}
        self._news: dict[str, anyio.Event] = {}

    def begin(self, agent: str, step: int, masker: Masker) -> AnswerDraft:
        """The draft of this agent's next answer; the one before is gone."""
        draft = AnswerDraft(self, agent, step, masker)
        self._by_run.setdefault(run_of(agent), {})[agent] = draft
        self.changed(agent)
        return draft

    def discard(self, agent: str) -> None:
        """There is nothing to show of this agent any more."""
        run = run_of(agent)
        of_run = self._by_run.get(run, {})
        if of_run.pop(agent, None) is not None:
            if not of_run:
                del self._by_run[run]
            self.changed(agent)

    def of(self, run: str) -> tuple[AnswerDraft, ...]:
        """The drafts of a run's agents."""
        return tuple(self._by_run.get(run, {}).values())

    def next(self, run: str) -> anyio.Event:
        """Set at the next change. Take it before you look, wait for it after."""
        return self._news.setdefault(run, anyio.Event())

    def changed(self, agent: str) -> None:
        """Wake who follows this agent's run."""
        if (news := self._news.pop(run_of(agent), None)) is not None:
            news.set()


# ── following ──


@dataclass(slots=True, kw_only=True)
class DraftCursor:
    """Where one follower of a run's drafts is."""

    drafts: Drafts
    run: str
    _seen: tuple[tuple[str, int], ...] = ()
    _sent: dict[str, DraftView] = field(default_factory=dict[str, DraftView])
    _looked_at: float = 0.0

    async def wait(self) -> None:
        """Until something changed since the last look, and it is time for another."""
        while True:
            news = self.drafts.next(self.run)
            if self._marks() != self._seen:
                await anyio.sleep_until(self._looked_at + MIN_INTERVAL_SECONDS)
                return
            await news.wait()

    def changes(self, *, is_first: bool = False) -> dict[str, Any] | None:
        """What was added since the last look, as JSON; None if nothing that may be shown. First, everything."""
        self._looked_at, self._seen = anyio.current_time(), self._marks()
        views = {draft.view.agent: draft.view for draft in self.drafts.of(self.run)}
        before, self._sent = self._sent, views
        changed = [_change_json(before.get(agent), view) for agent, view in views.items() if before.get(agent) != view]
        over = [agent for agent in before if agent not in views]
        return {"is_first": is_first, "drafts": changed, "over": over} if is_first or changed or over else None

    def _marks(self) -> tuple[tuple[str, int], ...]:
        return tuple(draft.mark for draft in self.drafts.of(self.run))


def _change_json(before: DraftView | None, view: DraftView) -> dict[str, Any]:
    known = before.sections if before is not None and before.draft == view.draft else ()
    pieces: list[dict[str, Any]] = []
    for place, section in enumerate(view.sections):
        old = known[place] if place < len(known) else None
        if section != old:
            at = 0 if old is None else _same_characters(old.text, section.text)
            same = {"section": place, "kind": section.kind, "call": section.call, "title": section.title}
            pieces.append({**same, "at": at, "text": section.text[at:]})
    return {"agent": view.agent, "step": view.step, "draft": view.draft, "is_done": view.is_done, "sections": pieces}


def _same_characters(before: str, after: str) -> int:
    """How many characters from the beginning on are the same."""
    if after.startswith(before):
        return len(before)
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (old, new) in pairs if old != new), len(after))


async def follow_drafts(drafts: Drafts, run: str) -> AsyncGenerator[tuple[DraftView, ...]]:
    """All drafts of a run: as they are, then whenever they changed; for ever."""
    cursor = DraftCursor(drafts=drafts, run=run)
    while True:
        cursor.changes()
        yield tuple(draft.view for draft in drafts.of(run))
        await cursor.wait()


def views_after(views: tuple[DraftView, ...], told: dict[str, Any]) -> tuple[DraftView, ...]:
    """The drafts after what `DraftCursor.changes` said. Pieces that do not fit what is there are left out."""
    known = {} if told["is_first"] else {view.agent: view for view in views if view.agent not in told["over"]}
    for change in told["drafts"]:
        before = known.get(change["agent"])
        sections = list(before.sections) if before is not None and before.draft == change["draft"] else []
        for piece in change["sections"]:
            place, at = piece["section"], piece["at"]
            text = sections[place].text if place < len(sections) else ""
            if place <= len(sections) and at <= len(text):
                grown = DraftSection(
                    kind=piece["kind"], call=piece["call"], title=piece["title"], text=text[:at] + piece["text"]
                )
                sections[place : place + 1] = [grown]
        same = {name: change[name] for name in ("agent", "step", "draft", "is_done")}
        known[change["agent"]] = DraftView(**same, sections=tuple(sections))
    return tuple(known.values())
