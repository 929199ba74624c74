"""What a model read in each step, kept so that nothing is stored twice: a later context refers to an earlier one.

`cellwright runs context RUN STEP` reads it back whole.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import TypeAdapter

from cellwright.agents.context import Prompt, Span
from cellwright.errors import UserError
from cellwright.journal import Fact, Recorded, stream_of
from cellwright.tools.kept_texts import KeptTexts

TOPIC: Final = "agent-context"
_WORTH_REFERRING: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a text is kept: in which context, and there from where to where."""

    context: str
    start: int
    end: int


Known = Mapping[str, Origin]
"""Texts of earlier contexts and where they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    new: str
    """The texts that were not kept before."""
    spans: tuple[Span, ...]
    origins: tuple[Origin, ...]
    """One per span; an empty context means this one."""
    left_out: tuple[str, ...]


_KEPT: Final = TypeAdapter(_Kept)


def encode(prompt: Prompt, known: Known) -> str:
    """The prompt as it is kept."""
    new, origins, length = list[str](), list[Origin](), 0
    for span in prompt.spans:
        text = prompt.text_of(span)
        origin = known.get(text)
        if origin is None:
            origin = Origin(context="", start=length, end=length + len(text))
            new.append(text)
            length += len(text)
        origins.append(origin)
    kept = _Kept(new="".join(new), spans=prompt.spans, origins=tuple(origins), left_out=prompt.left_out)
    return _KEPT.dump_json(kept).decode()


def known_after(prompt: Prompt, known: Known, name: str) -> Known:
    """What is known once this prompt is kept under this name."""
    more, length = dict(known), 0
    for span in prompt.spans:
        text = prompt.text_of(span)
        if text in known:
            continue
        if len(text) >= _WORTH_REFERRING:
            more.setdefault(text, Origin(context=name, start=length, end=length + len(text)))
        length += len(text)
    return more


def context_fact(workflow: str, step: int, name: str, prompt: Prompt) -> Fact:
    """What is told about a step's context."""
    numbers = {"tokens": float(prompt.tokens), "parts": float(len(prompt.spans)), "step": float(step)}
    return Fact(topic=TOPIC, subject=f"{workflow}#{step}", text=name, numbers=numbers)


async def list_contexts(read: Callable[[str], AsyncIterable[Recorded]], run: str) -> dict[str, Fact]:
    """Every step of the run's agents whose context is kept, by `WORKFLOW#STEP`."""
    found = dict[str, Fact]()
    async for recorded in read(stream_of(run)):
        if isinstance(recorded.event, Fact) and recorded.event.topic == TOPIC:
            found[recorded.event.subject] = recorded.event
    return found


async def read_context(kept: KeptTexts, name: str) -> Prompt:
    """The prompt that was kept. Raises `UserError` if it, or what it refers to, is gone."""
    held = await _read(kept, name)
    earlier = {origin.context for origin in held.origins if origin.context}
    news = {"": held.new} | {context: (await _read(kept, context)).new for context in sorted(earlier)}
    texts = [news[origin.context][origin.start : origin.end] for origin in held.origins]
    spans, start = list[Span](), 0
    for span, text in zip(held.spans, texts, strict=True):
        spans.append(replace(span, start=start, end=start + len(text)))
        start += len(text)
    return Prompt(text="".join(texts), spans=tuple(spans), left_out=held.left_out)


async def read_pictures(kept: KeptTexts, prompt: Prompt) -> dict[str, bytes]:
    """The pictures that go with a prompt, by name; without those that are gone."""
    found = dict[str, bytes]()
    for name in sorted({span.picture for span in prompt.spans if span.picture}):
        text = await kept.read(name)
        found |= {} if text is None else {name: base64.b64decode(text)}
    return found


async def _read(kept: KeptTexts, name: str) -> _Kept:
    text = await kept.read(name)
    if text is None:
        raise UserError(f"The context {name[:12]}… is not kept any more.", hint="Old ones go when a journal is pruned.")
    return _KEPT.validate_json(text)
