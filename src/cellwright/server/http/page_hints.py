"""What to do next, said for somebody at the page: the rooms below speak of options and commands, which it has not.

What only the one who serves the folder can do stays a command: `cellwright serve …` and the others in `IN_A_TERMINAL`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

IN_A_TERMINAL: Final = frozenset(
    {"serve", "gateway stop", "journal verify", "models set-key", "notebook run", "notebook verify"}
)
"""Commands for which the page has no place."""

_SENTENCES: Final[Mapping[str, str]] = {
    "Name files or folders with --data.": "Add files or folders to the goal.",
    "Name other files with --data.": "Add other files to the goal.",
    "Put longer texts in a file, with --data.": "Put longer texts in a file, and add it to the goal.",
    "--data takes a file or folder, or NAME=PATH.": "Choose a file or folder that is there.",
    "Use --data NAME=PATH with a plain name.": "Use NAME=PATH with a plain name.",
    "Two --data options": "Two files or folders",
    "give others with --data": "add others to the goal",
    "give it again with --data": "add it to the goal again",
    "e.g. --budget 0.50": "e.g. 0.50",
    "Unknown --approve": "Unknown way to approve:",
    "Name a new one with --notebook.": "Name a new one.",
    "name another --notebook.": "name another notebook.",
    "Name another --project, or a --notebook inside it.": "Name a notebook inside the folder that is served.",
    "Name another --project.": "Choose a notebook inside the folder that is served.",
    "--project takes the folder the notebook may see.": "Choose a folder inside the one that is served.",
    "; --allow-uncontained runs it all the same.": ".",
    "or ask without --private.": "or start the run without “Private”.",
    "Use --file to keep it in a file.": "Keep it in a file: `cellwright models set-key --file` in a terminal.",
    "Use --files keep, or run as the owner of the project.": "Serve the folder as the owner of its files.",
    "Use --files keep: the notebook then works on a copy and its changes are brought back.": (
        "Serve the folder as the owner of its files."
    ),
    "Run as the owner of the project, or raise the limits: --limit disk=… --limit inodes=….": (
        "Serve the folder as the owner of its files, or move what is large out of it."
    ),
    "; `--python ours` looks for none.": ".",
    "with `--python ours`": "with `cellwright notebook run --python ours` in a terminal",
    "name a smaller --project, or": "serve a smaller folder, or",
    "raise --limit disk=… and --limit inodes=…": "move what is large out of it",
    "(Docker, Podman: --tmpfs /tmp; Kubernetes: an emptyDir mounted there)": (
        "(Docker, Podman: a tmpfs, Kubernetes: an emptyDir mounted there)"
    ),
    "Use less memory, or raise the limit with --limit.": "Use less memory.",
    "or allow more time with --timeout.": "and verify it again.",
    'Say what you want: cellwright run "why did revenue fall in Q3?"': "Say what you want to know.",
    "Give one: cellwright models set-key": "Give one in the settings, under “Models and keys”:",
    "Wait until it is made; `cellwright runs watch`.": "Wait until it is made.",
}
_PLACES: Final[Mapping[str, str]] = {
    "doctor": "“This machine” in the settings",
    "models list": "“Models and keys” in the settings",
    "models test": "“Dashboards”",
    "inbox grants": "“Standing approvals” in the settings",
    "inbox": "the list of runs",
    "runs list": "the list of runs",
    "runs show": "the run's own page",
    "runs resume": "“Resume”",
    "journal runs": "the list of runs",
    "journal show": "the list of runs",
}
_SENTENCE: Final = re.compile("|".join(re.escape(each) for each in sorted(_SENTENCES, key=len, reverse=True)))
_COMMAND: Final = re.compile(rf"(?:Run (?=`cellwright doctor))?`cellwright ({'|'.join(_PLACES)})(?: [^`]*)?`")


def page_hint(text: str) -> str:
    """The same advice, in the page's words."""
    said = _SENTENCE.sub(lambda found: _SENTENCES[found[0]], text)
    said = _COMMAND.sub(lambda found: ("See " if found[0].startswith("Run ") else "") + _PLACES[found[1]], said)
    return said
