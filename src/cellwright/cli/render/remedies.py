"""Remedies at a terminal: the option or the command that does it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Final

from cellwright.errors import CellwrightError
from cellwright.remedies import Hint, Remedy, RemedyKind, Wording


def _limits(arguments: Mapping[str, str]) -> str:
    named = [f"--limit {name}=…" for name in arguments["limits"].split()]
    return f"Raise {' and '.join(named)}." if named else "Raise the limit with --limit."


def _rerun(arguments: Mapping[str, str]) -> str:
    option = f" --limit {arguments['limit']}" if arguments["limit"] else ""
    return f"To have them: `cellwright notebook run {shlex.quote(arguments['notebook'])}{option}`"


_TLS_FILES: Final = {
    "certificate": "Give --tls-cert PEM, which begins with -----BEGIN CERTIFICATE-----, with those it rests on.",
    "key": "Give --tls-key the certificate's private key as PEM, without a password.",
    "both": "Give --tls-cert and --tls-key that were made together; the certificate comes first in its file.",
}
_OWN_OPTIONS: Final = frozenset({"host", "port", "database", "user", "tls", "url", "path"})
"""Of a connection; all others are given as KEY=VALUE."""


def _options(arguments: Mapping[str, str]) -> str:
    named = [f"--{each} …" if each in _OWN_OPTIONS else f"--option {each}=…" for each in arguments["options"].split()]
    return f"Say {' '.join(named)}. It has: {arguments['known']}."


TERMINAL: Final[Mapping[RemedyKind, Wording]] = {
    "add_data": "Name {what} with --data.",
    "name_notebook": "Name {what} with --notebook.",
    "name_project": "Name {what} with --project.",
    "allow_folder": "Or say what its project is: with `cellwright notebook run --project {folder}` it is all of "
    "{what}, except for what looks like a secret.",
    "raise_limit": _limits,
    "allow_time": "Allow more time with --timeout.",
    "use_own_python": "Run it on {python} all the same with `--python ours`.",
    "allow_uncontained": "`cellwright doctor` says what is missing; --allow-uncontained runs it all the same.",
    "keep_files": "Use --files keep: the notebook then works on a copy and its changes are brought back.",
    "keep_changes": "To keep them: `cellwright notebook run --limit {limit}`; to leave them: "
    "`cellwright notebook run --files drop`.",
    "rerun_notebook": _rerun,
    "without_private": "Ask without --private.",
    "set_key": "`cellwright models set-key {provider}`, or start with {variable} set.",
    "store_key_in_file": "Use --file to keep it in a file.",
    "configure_model": "`cellwright models set-key PROVIDER` gives agents a model; "
    "`cellwright models list` shows which.",
    "see_models": "`cellwright models list` shows {shows}.",
    "test_models": "`cellwright models test` shows which models answer now.",
    "add_tool_server": "`cellwright tools add {name} … -- COMMAND` names one; `--help` says what it takes.",
    "allow_server_tools": "`cellwright tools allow {name}` shows what its tools say, and asks you.",
    "set_server_secret": "`cellwright tools add {name} --secret {variable}` asks for it again, `--stdin` reads it.",
    "show_server_software": "Add `--software {folder}`, or the folder that has all it needs.",
    "allow_private_server": "If that is meant, add {name} again with `--private-hosts`.",
    "see_doctor": "`cellwright doctor` {says}.",
    "see_run": "`cellwright runs show {run}` says more.",
    "resume_run": "`cellwright runs resume {run}` tries again.",
    "see_inbox": "See `cellwright inbox`.",
    "see_grants": "See `cellwright inbox grants`.",
    "trust_project": lambda given: f"`cellwright project trust {shlex.quote(given['project'])}` shows it and asks you.",
    "see_journal": lambda given: f"See `cellwright journal {'show ' + given['run'] if given['run'] else 'runs'}`.",
    "verify_journal": "Run `cellwright journal verify`.",
    "name_journal_key": "Name it with --key.",
    "replace_journal": "Replace it with --replace.",
    "start_daemon": "`cellwright serve --detach` starts one.",
    "stop_daemon": lambda given: f"`cellwright serve stop{' --kill' if given['how'] == 'kill' else ''}` ends it.",
    "add_connection": "`cellwright data connect {name} --kind KIND` adds one; `--help` says what it takes.",
    "give_options": _options,
    "set_connection_secret": "`cellwright data connect {name}` asks for the secret again, `--stdin` reads it.",
    "set_writer_secret": "`cellwright data connect {name} --writer {writer}` asks for its secret, `--stdin` reads it.",
    "install_driver": "`pip install 'cellwright[{extra}]'` adds its driver.",
    "allow_method": "A person can allow it: `cellwright data connect {name} --option methods={methods}`.",
    "ask_for_write": "`cellwright data query --write` shows what it would do, and asks.",
    "stop_broker": "`cellwright data stop` ends it.",
    "stop_gateway": "`cellwright gateway stop` ends it.",
    "open_web": "`cellwright serve` opens it.",
    "serve_with_tls": "Give --tls-cert and --tls-key; or --behind-proxy https://… if a proxy in front of it speaks "
    "TLS; or leave --host away and use `ssh -L 8300:127.0.0.1:8300`.",
    "give_tls_files": lambda given: _TLS_FILES.get(given["file"], _TLS_FILES["both"]),
    "serve_without_page": "Or serve the API without it: `cellwright serve --no-page`.",
    "get_address": "`cellwright serve url` gives a fresh one.",
    "get_admitted": "`cellwright serve url` gives a fresh address, `cellwright serve tokens create` a token.",
    "create_token": "`cellwright serve tokens create --scope {scope}` makes one that may.",
}


def hint_text(hint: Hint) -> str:
    """A hint for somebody at a terminal."""
    return hint.said(TERMINAL) if isinstance(hint, Remedy) else hint


def problem_text(problem: CellwrightError) -> str:
    """What went wrong and what to do next, on one line."""
    return f"{problem.message} {hint_text(problem.advice)}".rstrip()


def reworded(text: str, remedies: Iterable[Remedy]) -> str:
    """A stored text with these remedies said for a terminal, where it says them for every reader."""
    for each in remedies:
        text = text.replace(each.sentence, hint_text(each))
    return text
