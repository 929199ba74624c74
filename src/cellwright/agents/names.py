"""The room's names that take long to load, each from its module when it is first used."""

from __future__ import annotations

import importlib


def __getattr__(name: str) -> object:
    if name in {"Prompt", "PromptPart", "PromptSpan", "Rank", "Weight", "assemble"}:
        return getattr(importlib.import_module("cellwright.agents.prompt.prompt"), name)
    raise AttributeError(f"module 'cellwright.agents' has no attribute {name!r}")
