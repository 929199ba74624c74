"""What agents see of APIs that were named for the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from cellwright.agents.prompt.context_providers import ContextView, Onlooker
from cellwright.agents.prompt.prompt import PromptPart, Rank
from cellwright.agents.role import Sight

_ANYBODY: Final = Onlooker()


@dataclass(slots=True, eq=False)
class ApisContext:
    """A few lines for each."""

    shows: ClassVar[Sight] = "data"
    texts: Sequence[str]

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """Always the same: it stands before the history."""
        text = "\n\n".join(self.texts)
        return ContextView(parts=(PromptPart(name="apis", text=text, rank=Rank.ASSIGNMENT, least_tokens=150),))
