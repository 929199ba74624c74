"""What a run made, as it goes over HTTP."""

from __future__ import annotations

from typing import Literal

from cellwright.server.web.shapes.shape import Shape

ArtifactKind = Literal["notebook", "report", "proof"]


class Artifact(Shape):
    """One file."""

    name: str
    kind: ArtifactKind
    bytes: int


class Artifacts(Shape):
    """What there is now."""

    artifacts: list[Artifact]
