"""What somebody can do about a problem, as a value: each interface says it in its own words.

A room below `cli/` knows no option and no command. It gives a kind with arguments; `cli/render/remedies.py` says it for
a terminal, `server/http/page_remedies.py` for the page, and `Remedy.sentence` for whoever has no interface of ours: an
agent, a stored text, a log. Kinds and the names of their arguments are stored: they never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

RemedyKind = Literal[
    # what a goal or a notebook is given
    "add_data",
    "name_notebook",
    "name_project",
    "allow_folder",
    "raise_limit",
    "allow_time",
    "use_own_python",
    "allow_uncontained",
    "keep_files",
    "keep_changes",
    "rerun_notebook",
    "without_private",
    # models
    "set_key",
    "store_key_in_file",
    "configure_model",
    "see_models",
    "test_models",
    # connections
    "add_connection",
    "give_options",
    "set_connection_secret",
    "set_writer_secret",
    "install_driver",
    "stop_broker",
    "ask_for_write",
    "allow_method",
    # tool servers
    "add_tool_server",
    "allow_server_tools",
    "set_server_secret",
    "show_server_software",
    "allow_private_server",
    # machine and runs
    "see_doctor",
    "see_run",
    "resume_run",
    "see_inbox",
    "see_grants",
    "trust_project",
    # journal
    "see_journal",
    "verify_journal",
    "name_journal_key",
    "replace_journal",
    # processes and the web server
    "start_daemon",
    "stop_daemon",
    "stop_gateway",
    "open_web",
    "serve_with_tls",
    "give_tls_files",
    "serve_without_page",
    "get_address",
    "get_admitted",
    "create_token",
]
KINDS: Final[tuple[RemedyKind, ...]] = get_args(RemedyKind)
Wording = str | Callable[[Mapping[str, str]], str]
"""One sentence: a template with the arguments' names in braces, or a function of the arguments."""

ARGUMENTS: Final[Mapping[RemedyKind, frozenset[str]]] = {
    "add_data": frozenset({"what"}),
    "name_notebook": frozenset({"what"}),
    "name_project": frozenset({"what"}),
    "allow_folder": frozenset({"folder", "what"}),
    "raise_limit": frozenset({"limits"}),
    "use_own_python": frozenset({"python"}),
    "keep_changes": frozenset({"limit"}),
    "rerun_notebook": frozenset({"notebook", "limit"}),
    "set_key": frozenset({"provider", "variable"}),
    "see_models": frozenset({"shows"}),
    "add_connection": frozenset({"name"}),
    "give_options": frozenset({"options", "known"}),
    "set_connection_secret": frozenset({"name"}),
    "set_writer_secret": frozenset({"name", "writer"}),
    "install_driver": frozenset({"extra"}),
    "allow_method": frozenset({"name", "methods"}),
    "add_tool_server": frozenset({"name"}),
    "allow_server_tools": frozenset({"name"}),
    "set_server_secret": frozenset({"name", "variable"}),
    "show_server_software": frozenset({"name", "folder"}),
    "allow_private_server": frozenset({"name"}),
    "see_doctor": frozenset({"says"}),
    "see_run": frozenset({"run"}),
    "resume_run": frozenset({"run"}),
    "trust_project": frozenset({"project"}),
    "see_journal": frozenset({"run"}),
    "stop_daemon": frozenset({"how"}),
    "give_tls_files": frozenset({"file"}),
    "create_token": frozenset({"scope"}),
}
"""What each kind needs to be told; a kind that is not here needs nothing. One that does not apply is empty."""


def _limits(arguments: Mapping[str, str]) -> str:
    return f"Raise the limits {' and '.join(names)}." if (names := arguments["limits"].split()) else "Raise the limit."


def _rerun(arguments: Mapping[str, str]) -> str:
    limit = f", with {arguments['limit']}" if arguments["limit"] else ""
    return f"To have them, run the notebook by itself{limit}."


_TLS_FILES: Final = {
    "certificate": "Give the certificate as PEM, from -----BEGIN CERTIFICATE----- on, with those it rests on.",
    "key": "Give the certificate's private key as PEM, without a password.",
    "both": "Give a certificate and a key that were made together; the certificate comes first in its file.",
}
NEUTRAL: Final[Mapping[RemedyKind, Wording]] = {
    "add_data": "Name {what} as data.",
    "name_notebook": "Name {what}.",
    "name_project": "Name {what} as its project.",
    "allow_folder": "Or name {folder} as its project: that is all of {what}, except for what looks like a secret.",
    "raise_limit": _limits,
    "allow_time": "Allow more time.",
    "use_own_python": "Run it on {python} all the same.",
    "allow_uncontained": "The doctor says what is missing.",
    "keep_files": "Keep changed files instead: the notebook then works on a copy and its changes are brought back.",
    "keep_changes": "To keep them, allow {limit}; to leave them, drop what the notebook changes.",
    "rerun_notebook": _rerun,
    "without_private": "Ask without keeping everything on this machine.",
    "set_key": "Give a key for {provider}, or start with {variable} set.",
    "store_key_in_file": "Keep it in a file.",
    "configure_model": "A provider's key gives agents a model.",
    "see_models": "The list of models shows {shows}.",
    "test_models": "A test of the models shows which answer now.",
    "add_connection": "Add a connection called {name}.",
    "give_options": "It has: {known}.",
    "set_connection_secret": "Give the secret of the connection {name} again.",
    "set_writer_secret": "Give the secret of {writer}, the writer of the connection {name}, again.",
    "install_driver": "Install cellwright[{extra}] for its driver.",
    "stop_broker": "Stop the data broker; the next query starts it anew.",
    "ask_for_write": "Ask for it as a change: agents have the tool `write` for it.",
    "allow_method": "A person can let {name} take {methods}.",
    "add_tool_server": "A person can name one as {name}, and say where it may be used.",
    "allow_server_tools": "A person looks at what the tools of {name} say, and allows them.",
    "set_server_secret": "Give {variable} for the tool server {name}.",
    "show_server_software": "Show its cage the folder it is in, such as {folder}.",
    "allow_private_server": "If that is meant, let {name} lead to this machine or its network.",
    "see_doctor": "The doctor {says}.",
    "see_run": "Look at the run itself.",
    "resume_run": "Resuming it tries again.",
    "see_inbox": "See the inbox.",
    "see_grants": "See the standing grants.",
    "trust_project": "A run that may ask asks about it.",
    "see_journal": "See the journal.",
    "verify_journal": "Verify the journal.",
    "name_journal_key": "Name the file it is in.",
    "replace_journal": "Say that it is to be replaced.",
    "start_daemon": "Start one.",
    "stop_daemon": "End it.",
    "stop_gateway": "End it.",
    "open_web": "Open the control room.",
    "serve_with_tls": "Give a certificate and its key; or the origin of a proxy in front of it that speaks TLS; or "
    "name no host and use `ssh -L 8300:127.0.0.1:8300`.",
    "give_tls_files": lambda given: _TLS_FILES.get(given["file"], _TLS_FILES["both"]),
    "serve_without_page": "Or serve the API without it.",
    "get_address": "Whoever serves it can give a fresh one.",
    "get_admitted": "Whoever serves it can give an address or a token.",
    "create_token": "Whoever serves it can make one with the scope {scope}.",
}
"""Words for every reader: no option, no command, no place of the page."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do next. `remedy` makes one and checks the arguments."""

    kind: RemedyKind
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    lead: str = ""
    """What stands before it, the same for every reader. Without a full stop at its end, the sentence goes on."""

    def __hash__(self) -> int:
        return hash((self.kind, self.lead, frozenset(self.arguments.items())))

    @property
    def sentence(self) -> str:
        """In words for every reader."""
        return self.said(NEUTRAL)

    def said(self, words: Mapping[RemedyKind, Wording]) -> str:
        """In the words of an interface."""
        wording = words[self.kind]
        own = wording.format_map(self.arguments) if isinstance(wording, str) else wording(self.arguments)
        if not self.lead:
            return own
        return f"{self.lead} {own if self.lead.endswith('.') else own[:1].lower() + own[1:]}"

    def after(self, text: str) -> Remedy:
        """The same, after these words."""
        return replace(self, lead=f"{text} {self.lead}".strip())

    def changed(self, change: Callable[[str], str]) -> Remedy:
        """The same with every text in it changed, e.g. masked."""
        arguments = {name: change(value) for name, value in self.arguments.items()}
        return replace(self, arguments=arguments, lead=change(self.lead))


Hint = str | Remedy
"""What to do next: a text that holds for every reader, or a remedy that each interface words."""


def remedy(kind: RemedyKind, *, lead: str = "", **arguments: str) -> Remedy:
    """A remedy of this kind. Raises `ValueError` if it is given other arguments than it takes."""
    if arguments.keys() != ARGUMENTS.get(kind, frozenset()):
        raise ValueError(f"{kind} takes {sorted(ARGUMENTS.get(kind, ()))}, not {sorted(arguments)}")
    return Remedy(kind=kind, arguments=arguments, lead=lead)


def hint_after(text: str, hint: Hint) -> Hint:
    """The hint after these words."""
    return hint.after(text) if isinstance(hint, Remedy) else f"{text} {hint}".rstrip()


def sentence_of(hint: Hint) -> str:
    """A hint in words for every reader."""
    return hint.sentence if isinstance(hint, Remedy) else hint


def remedy_json(value: Remedy) -> dict[str, Any]:
    """As plain JSON values."""
    return {"kind": value.kind, "arguments": dict(value.arguments), "lead": value.lead}


def parse_remedy(value: Any) -> Remedy | None:
    """The remedy of such a value; None for what this version does not know: the text beside it still holds."""
    match value:
        case {"kind": str(name), "arguments": dict(arguments), "lead": str(lead)}:
            kind = next((known for known in KINDS if known == name), None)
            if kind is None or arguments.keys() != ARGUMENTS.get(kind, frozenset()):
                return None
            given = {str(one): text for one, text in arguments.items() if isinstance(text, str)}
            return Remedy(kind=kind, arguments=given, lead=lead) if len(given) == len(arguments) else None
        case _:
            return None
