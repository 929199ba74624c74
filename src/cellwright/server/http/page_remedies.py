"""Remedies in the page: what somebody does there.

What only the one who serves the folder can do stays a command: `cellwright serve …` and the others in `IN_A_TERMINAL`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cellwright.errors import CellwrightError
from cellwright.remedies import Hint, Remedy, RemedyKind, Wording

IN_A_TERMINAL: Final = frozenset(
    {"serve", "gateway stop", "data stop", "journal verify", "models set-key", "notebook run", "tools add"}
)
"""Commands for which the page has no place."""


def _limits(arguments: Mapping[str, str]) -> str:
    if {"disk", "inodes"} & set(arguments["limits"].split()):
        return "Move what is large out of the folder."
    return "Raise the limit: `cellwright notebook run --limit` in a terminal."


def _rerun(arguments: Mapping[str, str]) -> str:
    option = f" --limit {arguments['limit']}" if arguments["limit"] else ""
    return f"To have them: `cellwright notebook run{option}` in a terminal."


PAGE: Final[Mapping[RemedyKind, Wording]] = {
    "add_data": "Add {what} to the goal.",
    "name_notebook": "Name {what}.",
    "name_project": "Serve {what}.",
    "allow_folder": "Or say what its project is: with `cellwright notebook run --project {folder}` it is all of "
    "{what}, except for what looks like a secret.",
    "raise_limit": _limits,
    "allow_time": "Verify it again: `cellwright notebook run --timeout` in a terminal allows more time.",
    "use_own_python": "Run it on {python} all the same, with `cellwright notebook run --python ours` in a terminal.",
    "allow_uncontained": "“This machine” in the settings says what is missing.",
    "keep_files": "Serve the folder as the owner of its files.",
    "keep_changes": "To keep them: `cellwright notebook run --limit {limit}` in a terminal; to leave them: "
    "`cellwright notebook run --files drop`.",
    "rerun_notebook": _rerun,
    "without_private": "Start the run without “Private”.",
    "set_key": "Give a key for {provider} in the settings, under “Models and keys”.",
    "store_key_in_file": "Keep it in a file: `cellwright models set-key --file` in a terminal.",
    "configure_model": "A key in the settings, under “Models and keys”, gives agents a model.",
    "see_models": "“Models and keys” in the settings shows {shows}.",
    "test_models": "“Dashboards” shows which models answer.",
    "add_tool_server": "Add {name} under “Tool servers” in the settings.",
    "allow_server_tools": "“Tool servers” in the settings shows what the tools of {name} say, and asks you.",
    "set_server_secret": "Add {name} again with its secret {variable}.",
    "show_server_software": "Add {name} again with the folder {folder} among those its command reads.",
    "allow_private_server": "If that is meant, add {name} again, and let it lead to this machine or its network.",
    "see_doctor": "“This machine” in the settings {says}.",
    "see_run": "The run's own page says more.",
    "resume_run": "“Resume” tries again.",
    "see_inbox": "See the list of runs.",
    "see_grants": "See “Standing approvals” in the settings.",
    "trust_project": "A run that may ask shows it and asks you.",
    "see_journal": "See the list of runs.",
    "verify_journal": "`cellwright journal verify` in a terminal says more.",
    "name_journal_key": "Name it when you serve the folder.",
    "replace_journal": "Say in a terminal that it is to be replaced.",
    "start_daemon": "`cellwright serve` in a terminal starts one.",
    "stop_daemon": "`cellwright serve stop` in a terminal ends it.",
    "add_connection": "Add it under Connections.",
    "give_options": "Fill them in. It has: {known}.",
    "set_connection_secret": "Give the secret of {name} again, under Connections.",
    "set_writer_secret": "Give the secret of {writer}, the writer of {name}, again, under Connections.",
    "install_driver": "`pip install 'cellwright[{extra}]'` adds its driver.",
    "allow_method": "Add the method to those of {name}, under Connections.",
    "ask_for_write": "Ask an agent for it: you see what it would do, and decide.",
    "stop_broker": "Stop it in a terminal; the next query starts it anew.",
    "stop_gateway": "`cellwright gateway stop` in a terminal ends it.",
    "open_web": "`cellwright serve` opens it.",
    "serve_with_tls": "Serve it with a certificate and its key, or behind a proxy that speaks TLS.",
    "give_tls_files": "Serve it with a certificate and its key, both as PEM.",
    "serve_without_page": "Or serve the API without it: `cellwright serve --no-page`.",
    "get_address": "`cellwright serve url` gives a fresh one.",
    "get_admitted": "`cellwright serve url` gives a fresh address, `cellwright serve tokens create` a token.",
    "create_token": "`cellwright serve tokens create --scope {scope}` makes one that may.",
}
EDITOR_ORIGIN: Final = "Behind a proxy the editor needs an origin of its own: `cellwright serve --editor-origin`."
"""Why the page has no editor."""


def page_hint(hint: Hint) -> str:
    """A hint for somebody at the page."""
    return hint.said(PAGE) if isinstance(hint, Remedy) else hint


def page_problem(problem: CellwrightError) -> str:
    """What went wrong and what to do next, in one text of the page."""
    return f"{problem.message} {page_hint(problem.advice)}".rstrip()
