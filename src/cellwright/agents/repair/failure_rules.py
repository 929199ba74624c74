"""How an error's type and words tell what kind of failure it is: one table, read from the top, first match wins."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

FailureKind = Literal[
    "syntax",
    "name-conflict",
    "missing-package",
    "missing-file",
    "missing-column",
    "type-shape",
    "resource",
    "time-out",
    "network-refused",
    "connection-refused",
    "flaky",
    "failed-check",
    "kernel-lost",
    "edit-refused",
    "refused",
    "unknown",
]
"""name-conflict: a name with two cells, with none, or a cycle. missing-column: or key, or table. edit-refused: nothing
was changed, the cell is another than was read. refused: policy or a person said no."""

_READ: Final = 4_000
"""Of a message, so much is looked at."""
_MANY: Final = 50
_NAME: Final = 300
_ANYWHERE: Final = frozenset({"network-refused", "connection-refused"})
"""Kinds that are found in the causes of an error, too."""

FailureVerdict = tuple[FailureKind, tuple[str, ...], tuple[str, ...]]
"""Kind, what it is about, what the error offers instead."""


NamesIn = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailureRule:
    """Both patterns must be found: `types` in the error's type, `words` in its message."""

    kind: FailureKind
    types: re.Pattern[str]
    words: re.Pattern[str]
    """Its group `about`, if it has one, is what the failure is about."""
    about: NamesIn | str
    """Besides; found in the message, or always the same."""


def judge(error_type: str, message: str, *, tool_error: str = "") -> FailureVerdict:
    """The verdict on one error. `tool_error` is the kind of a tool's own error."""
    whole = message[:_READ]
    if tool_error:
        return _of_tool(tool_error, whole)
    if error_type == "PermissionError" and "'" not in whole:
        # No file is named: in a cage it is the network that says so.
        return "network-refused", (), ()
    words = re.split(r"\n(?:caused by|while handling) ", whole, maxsplit=1)[0]
    for rule in _RULES:
        found = _applies(rule, error_type, whole if rule.kind in _ANYWHERE else words)
        if found is not None:
            return found
    return "unknown", (), ()


def _applies(rule: _FailureRule, error_type: str, message: str) -> FailureVerdict | None:
    match = rule.words.search(message)
    if match is None or not rule.types.search(error_type):
        return None
    about = (rule.about,) if isinstance(rule.about, str) else rule.about(message)
    found = _LISTED.search(message)
    offers = [*_quoted(found[1] if found else ""), *_SUGGESTED.findall(message)]
    offers += _CELLS.findall(message) if rule.kind == "name-conflict" else []
    return rule.kind, _bounded((match.groupdict().get("about") or "", *about)), _bounded(offers)


_OF_TOOL: Final[dict[str, FailureKind]] = {
    "timed-out": "time-out",
    "too-big": "resource",
    "conflict": "edit-refused",
    "unavailable": "flaky",
}


def _of_tool(kind: str, message: str) -> FailureVerdict:
    if kind in ("not-found", "failed"):
        found = next((each for rule in _RULES if (each := _applies(rule, "", message)) is not None), None)
        if found is None and kind == "not-found" and "file" in message.casefold():
            return "missing-file", _bounded(_quoted(message)[:1]), ()
        return found or ("unknown", (), ())
    return _OF_TOOL.get(kind, "unknown"), (), ()


def _bounded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name[:_NAME] for name in names if name))[:_MANY]


# ── what it is about ──


def _key(message: str) -> tuple[str, ...]:
    """The key a `KeyError` names: its message is the key's repr, or a sentence with keys in it."""
    text = message.strip()
    try:
        key: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _quoted(text) or ((text,) if text and " " not in text else ())
    if not isinstance(key, str):
        return (repr(key),)
    is_sentence = re.search(r" not in index$| are in the \[|^Column not found|does not exist|not found in", key)
    return (_quoted(key) or (key,)) if is_sentence else (key,)


def _quoted(text: str) -> tuple[str, ...]:
    found = (match[2] for match in re.finditer(r"(['\"])((?:(?!\1)[^\n]){1,300})\1", text))
    return tuple(name for name in found if name not in _DTYPES)


_DTYPES: Final = frozenset({"object", "str", "string", "int64", "float64"})
_LISTED: Final = re.compile(r"(?:valid columns:|Candidate bindings:)(.*?)(?:\n\n|\Z)", re.DOTALL)
_SUGGESTED: Final = re.compile(r"Did you mean:? ['\"]([^'\"\n]{1,200})['\"]\?")
_CELLS: Final = re.compile(r"cell '([^'\n]{1,64})'")


def _tied(message: str) -> tuple[str, ...]:
    return tuple(
        sorted({name for names in re.findall(r" gives (.{1,300}?) to cell", message) for name in names.split(", ")})
    )


def _path(message: str) -> tuple[str, ...]:
    found = re.search(r": (b?(['\"])(?P<quoted>.{1,1000}?)\2)(?=$|\n| -> )", message)
    return (found["quoted"],) if found else ()


# ── the table ──


def _rule(kind: FailureKind, *, types: str = "", words: str = "", about: NamesIn | str = "") -> _FailureRule:
    return _FailureRule(kind=kind, types=re.compile(types), words=re.compile(words), about=about)


_RULES: Final[tuple[_FailureRule, ...]] = (
    # How a kernel ends, in our own words.
    _rule("resource", types=r"^KernelEnded$", words=r"out of (?P<about>memory)"),
    _rule("time-out", types=r"^KernelEnded$", words=r"(?P<about>wall|cpu|CPU) (?:time )?limit"),
    _rule("resource", types=r"^KernelEnded$", words=r"went over its (?P<about>[\w -]{1,60}) limit"),
    _rule("kernel-lost", types=r"^KernelEnded$"),
    _rule("time-out", types=r"^DeadlineReached$"),
    _rule("refused", types=r"^Interrupted$"),
    # The graph and the language, in marimo's words.
    _rule("name-conflict", types=r"^multiple-definition$", words=r"^'(?P<about>[^']{1,200})' is also defined"),
    _rule("name-conflict", types=r"^(?:cycle|setup-refs)$", about=_tied),
    _rule("name-conflict", types=r"^strict-execution$"),
    _rule("syntax", types=r"^(?:syntax|import-star|SyntaxError|IndentationError|TabError)$"),
    # Network, before anything else that could match the words of a long chain.
    _rule("connection-refused", words=r"connection '(?P<about>[a-z]\w{0,39})' is not approved for this notebook"),
    _rule("refused", words=r"may only read the connection '(?P<about>[a-z]\w{0,39})'"),
    _rule("network-refused", words=r"host '(?P<about>[^'\s]{1,253})' is not approved for this notebook"),
    _rule("network-refused", words=r"50[24] host '(?P<about>[^'\s]{1,253})'"),
    _rule("flaky", words=r"\b(?:429|5\d\d)\b (?:Client|Server) Error|HTTP Error (?:429|5\d\d)"),
    _rule(
        "network-refused",
        words=r"host='(?P<about>[^'\s]{1,253})'.{0,400}"
        r"(?:Failed to resolve|NameResolutionError|unreachable|Errno 13|Tunnel connection failed: 403)",
    ),
    _rule(
        "network-refused",
        words=r"Tunnel connection failed: 403|Temporary failure in name resolution|Name or service not known"
        r"|nodename nor servname|Network is unreachable|getaddrinfo failed|403 Client Error|HTTP Error 403",
    ),
    _rule("network-refused", types=r"(?:^|\.)(?:gaierror|ProxyError)$"),
    # What is not there.
    _rule("missing-package", words=r"^No module named '(?P<about>[\w.]{1,200})'"),
    _rule("missing-package", words=r"Missing optional dependency '(?P<about>[\w.-]{1,200})'"),
    _rule(
        "missing-package",
        types=r"(?:ImportError|ModuleNotFoundError)$",
        words=r"(?:[Ii]nstall|requires?) (?:the )?[`'\"]?(?P<about>[A-Za-z][\w.-]{1,100})[`'\"]?",
    ),
    _rule("missing-file", words=r"No such file or directory \(os error 2\): (?P<about>[^\n]{1,1000})"),
    _rule("missing-file", words=r"expanded paths were empty"),
    _rule("missing-file", words=r"No files found that match the pattern \"(?P<about>[^\"\n]{1,1000})\""),
    _rule("missing-file", types=r"^(?:FileNotFoundError|NotADirectoryError|IsADirectoryError)$", about=_path),
    _rule(
        "missing-file",
        words=r"No such file or directory|HTTP Error 404|404 Client Error|unable to open database file",
        about=_path,
    ),
    _rule("missing-column", words=r"[Uu]nable to find column \"(?P<about>[^\"\n]{1,300})\""),
    _rule("missing-column", words=r"[Rr]eferenced column \"(?P<about>[^\"\n]{1,300})\" not found"),
    _rule("missing-column", words=r"Table with name (?P<about>[^\s!]{1,300}) does not exist"),
    _rule("missing-column", words=r"no such (?:column|table): (?P<about>\S{1,300})"),
    _rule(
        "missing-column",
        words=r"(?:columns expected but not found|[Mm]issing column|columns are missing)",
        about=_quoted,
    ),
    _rule("missing-column", types=r"UndefinedVariableError$", words=r"name '(?P<about>[^'\n]{1,300})' is not defined"),
    _rule("missing-column", types=r"ColumnNotFoundError$", about=_quoted),
    _rule("missing-column", types=r"(?:^|\.)KeyError$", about=_key),
    # What may be used up, or takes too long.
    _rule("resource", types=r"(?:^|\.)_?(?:Array)?MemoryError$|OutOfMemory", about="memory"),
    _rule("resource", words=r"Unable to allocate|[Oo]ut of [Mm]emory|Cannot allocate memory", about="memory"),
    _rule("resource", words=r"\[Errno (?:27|28|122)\]|No space left on device|Disk quota exceeded", about="disk"),
    _rule("resource", words=r"can't start new thread|\[Errno (?:11|24)\]|Too many open files", about="processes"),
    _rule("resource", types=r"^RecursionError$", about="recursion"),
    _rule(
        "resource",
        words=r"\[Errno (?:1|13|30)\] (?:Operation not permitted|Permission denied|Read-only file system): ",
        about="files",
    ),
    _rule("time-out", types=r"(?:^|\.)(?:TimeoutError|TimeoutExpired|Timeout|ReadTimeout|ConnectTimeout|PoolTimeout)$"),
    _rule("time-out", words=r"\btimed out\b|deadline exceeded"),
    # What comes and goes.
    _rule(
        "flaky",
        types=r"(?:^|\.)(?:ConnectionResetError|ConnectionAbortedError|RemoteDisconnected|IncompleteRead|ChunkedEncodingError|BrokenPipeError)$",
    ),
    _rule(
        "flaky",
        words=r"database is locked|deadlock detected|[Cc]onnection reset by peer|[Rr]emote end closed connection"
        r"|[Tt]ry again later|rate limit|Resource temporarily unavailable",
    ),
    _rule("network-refused", types=r"(?:^|\.)(?:ConnectionRefusedError|ConnectionError|ConnectError|URLError)$"),
    # What the code thinks and the data is not.
    _rule("failed-check", types=r"(?:^|\.)(?:AssertionError|CheckFailed|Failed|SchemaErrors?)$|^Check"),
    _rule(
        "syntax",
        types=r"^sql$|(?:ParserException|OperationalError|ProgrammingError)$",
        words=r"[Ss]yntax [Ee]rror|Parser Error|near \"",
    ),
    _rule(
        "name-conflict",
        types=r"^(?:NameError|UnboundLocalError)$",
        words=r"(?:name|variable) '(?P<about>[^'\n]{1,200})'",
    ),
    _rule("name-conflict", types=r"^(?:NameError|UnboundLocalError)$"),
    _rule("type-shape", types=r"(?:^|\.)AttributeError$", words=r"no attribute '(?P<about>[^'\n]{1,200})'"),
    _rule("type-shape", types=r"(?:^|\.)ImportError$", words=r"cannot import name '(?P<about>[^'\n]{1,200})'"),
    _rule(
        "type-shape",
        types=r"(?:^|\.)(?:Type|Value|Attribute|Index|Import|Lookup|ZeroDivision|Overflow|FloatingPoint|Arithmetic|UnicodeDecode|UnicodeEncode"
        r"|Merge|Parser|EmptyData|LinAlg|Axis|Shape|Dimension|JSONDecode|InvalidOperation|Compute|DuplicateKey|IntCasting\w*"
        r"|OutOfBounds\w*|Specification|DataError|Validation|NotFitted|Indexing|Schema|Assembly|Struct\w*)(?:Error|Exception)?$",
    ),
    _rule(
        "type-shape",
        types=r"(?:^|\.)(?:ArrowInvalid|ArrowTypeError|ArrowKeyError|ConversionException|InvalidInputException|BinderException)$",
    ),
    _rule("type-shape", types=r"^sql$", words=r"^(?:Binder|Conversion|Invalid Input|Out of Range|Constraint) Error"),
)
"""From our own words to the libraries', from the certain to the vague."""
