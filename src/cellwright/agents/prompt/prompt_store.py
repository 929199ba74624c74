"""What a model read in each step, stored so that no text is kept twice, and shown to a person part by part.

Texts stand in the journal's own database under the hash of their bytes; a later prompt refers to an earlier one.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio.to_thread
from pydantic import TypeAdapter

from cellwright.agents.events import PromptStored
from cellwright.agents.prompt.prompt import Prompt, PromptSpan
from cellwright.errors import Defect, UserError
from cellwright.journal.blobs import Blobs
from cellwright.journal.events import Recorded
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.tools.text_store import TextStore


class JournalTexts:
    """Texts by the hash of their bytes."""

    def __init__(self, records: Records) -> None:
        self._blobs = Blobs(records.database)

    async def store(self, key: str, text: str) -> str:
        """Keep the text; its name. The key does not matter: equal texts are one."""
        return await anyio.to_thread.run_sync(self._blobs.put, text)

    async def read(self, name: str) -> str | None:
        """The text of this name, if it is here."""
        try:
            return await anyio.to_thread.run_sync(self._blobs.get, name)
        except Defect:
            return None


_WORTH_REFERRING: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOrigin:
    """Where a text is kept: in which context, and there from where to where."""

    context: str
    start: int
    end: int


KnownTexts = Mapping[str, TextOrigin]
"""Texts of earlier contexts and where they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredPrompt:
    new: str
    """The texts that were not kept before."""
    spans: tuple[PromptSpan, ...]
    origins: tuple[TextOrigin, ...]
    """One per span; an empty context means this one."""
    left_out: tuple[str, ...]


_STORED_PROMPT: Final = TypeAdapter(_StoredPrompt)


def encode_prompt(prompt: Prompt, known: KnownTexts) -> str:
    """The prompt as it is kept."""
    new, origins, length = list[str](), list[TextOrigin](), 0
    for span in prompt.spans:
        text = prompt.text_of(span)
        origin = known.get(text)
        if origin is None:
            origin = TextOrigin(context="", start=length, end=length + len(text))
            new.append(text)
            length += len(text)
        origins.append(origin)
    kept = _StoredPrompt(new="".join(new), spans=prompt.spans, origins=tuple(origins), left_out=prompt.left_out)
    return _STORED_PROMPT.dump_json(kept).decode()


def known_after(prompt: Prompt, known: KnownTexts, name: str) -> KnownTexts:
    """What is known once this prompt is kept under this name."""
    more, length = dict(known), 0
    for span in prompt.spans:
        text = prompt.text_of(span)
        if text in known:
            continue
        if len(text) >= _WORTH_REFERRING:
            more.setdefault(text, TextOrigin(context=name, start=length, end=length + len(text)))
        length += len(text)
    return more


async def list_contexts(read: Callable[[str], AsyncIterable[Recorded]], run: str) -> dict[str, PromptStored]:
    """Every step of the run's agents whose context is kept, by `WORKFLOW#STEP`."""
    events = [recorded.event async for recorded in read(stream_of(run))]
    return {event.call: event for event in events if isinstance(event, PromptStored)}


async def read_prompt(kept: TextStore, name: str) -> Prompt:
    """The prompt that was kept. Raises `UserError` if it, or what it refers to, is gone."""
    held = await _read_stored(kept, name)
    earlier = {origin.context for origin in held.origins if origin.context}
    news = {"": held.new} | {context: (await _read_stored(kept, context)).new for context in sorted(earlier)}
    texts = [news[origin.context][origin.start : origin.end] for origin in held.origins]
    spans, start = list[PromptSpan](), 0
    for span, text in zip(held.spans, texts, strict=True):
        spans.append(replace(span, start=start, end=start + len(text)))
        start += len(text)
    return Prompt(text="".join(texts), spans=tuple(spans), left_out=held.left_out)


async def read_pictures(kept: TextStore, prompt: Prompt) -> dict[str, bytes]:
    """The pictures that go with a prompt, by name; without those that are gone."""
    found = dict[str, bytes]()
    for name in sorted({span.picture for span in prompt.spans if span.picture}):
        text = await kept.read(name)
        found |= {} if text is None else {name: base64.b64decode(text)}
    return found


async def _read_stored(kept: TextStore, name: str) -> _StoredPrompt:
    text = await kept.read(name)
    if text is None:
        raise UserError(f"The context {name[:12]}… is not kept any more.", hint="Old ones go when a journal is pruned.")
    return _STORED_PROMPT.validate_json(text)


def prompt_view(prompt: Prompt) -> dict[str, Any]:
    """The prompt as plain JSON values: each span with its text."""
    shown = ("part", "place", "start", "end", "tokens", "is_cut", "picture")
    spans = [{name: getattr(span, name) for name in shown} | {"text": prompt.text_of(span)} for span in prompt.spans]
    return {"tokens": prompt.tokens, "characters": len(prompt.text), "left_out": list(prompt.left_out), "spans": spans}


def render_prompt(prompt: Prompt) -> str:
    """The prompt for a person: a line of sums, then each span under its name and size."""
    return "\n".join(_lines(prompt))


def _lines(prompt: Prompt) -> Iterator[str]:
    yield f"{prompt.tokens} tokens at most, {len(prompt.text)} characters, {len(prompt.spans)} parts"
    if prompt.left_out:
        yield f"left out: {', '.join(prompt.left_out)}"
    for span in prompt.spans:
        cut = ", shortened" if span.is_cut else ", with a picture" if span.picture else ""
        yield ""
        yield f"── {span.part} ({span.place}, {span.start}-{span.end}, {span.tokens} tokens{cut}) ──"
        yield prompt.text_of(span).rstrip("\n")
