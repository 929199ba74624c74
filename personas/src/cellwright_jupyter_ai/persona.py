"""The persona: Jupyter AI's own client for agents, and the command it starts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

from jupyter_ai_acp_client.base_acp_persona import BaseAcpPersona
from jupyter_ai_persona_manager import PersonaDefaults, PersonaRequirementsUnmet

PROGRAM = shutil.which("cellwright")
if PROGRAM is None:
    # As Jupyter AI wants it: the persona is not offered, and its log says why.
    raise PersonaRequirementsUnmet("This persona needs `cellwright` on the PATH of the Jupyter server.")


class CellwrightPersona(BaseAcpPersona):
    """`@Cellwright` in a chat."""

    NOTEBOOK_EDITING_GUIDANCE: ClassVar[str] = ""
    """What Jupyter AI tells agents that edit .ipynb files themselves is no part of a goal."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, executable=[PROGRAM, "acp"], **kwargs)

    @property
    def defaults(self) -> PersonaDefaults:
        """How it is shown."""
        return PersonaDefaults(
            name="Cellwright",
            description="Turns a goal into a checked marimo notebook, in a sandbox.",
            avatar_path=str(Path(__file__).with_name("cellwright.svg")),
            system_prompt="unused",
        )
