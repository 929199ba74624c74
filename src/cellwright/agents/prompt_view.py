"""A prompt for a person: what a model read in a step, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cellwright.agents.context import Prompt


def prompt_view(prompt: Prompt) -> dict[str, Any]:
    """The prompt as plain JSON values: each span with its text."""
    spans = [
        {
            "part": span.part,
            "place": span.place,
            "start": span.start,
            "end": span.end,
            "tokens": span.tokens,
            "is_cut": span.is_cut,
            "picture": span.picture,
            "text": prompt.text_of(span),
        }
        for span in prompt.spans
    ]
    return {
        "tokens": prompt.tokens,
        "characters": len(prompt.text),
        "left_out": list(prompt.left_out),
        "spans": spans,
    }


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
