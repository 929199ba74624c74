"""How an error's type and words tell what kind of failure it is: one table, read from the top, first match wins."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
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

FailureVerdict = tuple[FailureKind, tuple[str, ...], tuple[str, ...]]
"""Kind, what it is about, what the error offers instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailureRule:
    """Both patterns must be found: `types` in the error's type, `words` in its message."""

    kind: FailureKind
    types: re.Pattern[str] | None = None
    words: re.Pattern[str] | None = None
    """Its group `about`, if it has one, is what the failure is about."""
    about: Callable[[str], tuple[str, ...]] | None = None
    offers: Callable[[str], tuple[str, ...]] | None = None


def judge(error_type: str, message: str, *, traceback: str = "", tool_error: str = "") -> FailureVerdict:
    """The verdict on one error. `tool_error` is the kind of a tool's own error."""
    whole = message[:_READ]
    if tool_error:
        return _of_tool(tool_error, whole)
    if error_type == "PermissionError" and "'" not in whole and ("socket" in traceback or not traceback):
        # No file is named: in a cage it is the network that says so. What is kept of a call has no traceback.
        return "network-refused", (), ()
    words = re.split(r"\n(?:caused by|while handling) ", whole, maxsplit=1)[0]
    for rule in _RULES:
        found = _applies(rule, error_type, whole if rule.kind == "network-refused" else words)
        if found is not None:
            return found
    return "unknown", (), ()


def _applies(rule: _FailureRule, error_type: str, message: str) -> FailureVerdict | None:
    if rule.types is not None and not rule.types.search(error_type):
        return None
    match = rule.words.search(message) if rule.words is not None else None
    if rule.words is not None and match is None:
        return None
    about = rule.about(message) if rule.about is not None else ()
    if match is not None and "about" in match.re.groupindex and match["about"]:
        about = (match["about"], *about)
    offers = rule.offers(message) if rule.offers is not None else ()
    return rule.kind, _bounded(about), _bounded(offers)


def _of_tool(kind: str, message: str) -> FailureVerdict:
    match kind:
        case "timed-out":
            return "time-out", (), ()
        case "too-big":
            return "resource", (), ()
        case "conflict":
            return "edit-refused", (), ()
        case "unavailable":
            return "flaky", (), ()
        case "not-found" | "failed":
            found = next((each for rule in _RULES if (each := _applies(rule, "", message)) is not None), None)
            if found is None and kind == "not-found" and "file" in message.casefold():
                return "missing-file", _bounded(_quoted(message)[:1]), ()
            return found or ("unknown", (), ())
        case _:
            return "unknown", (), ()


def _bounded(names: tuple[str, ...]) -> tuple[str, ...]:
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


def _listed_behind(words: str) -> Callable[[str], tuple[str, ...]]:
    """The quoted names behind these words."""

    def offers(message: str) -> tuple[str, ...]:
        _, found, rest = message.partition(words)
        return _quoted(rest.split("\n\n")[0]) if found else ()

    return offers


def _suggested(message: str) -> tuple[str, ...]:
    found = re.search(r"Did you mean:? ['\"]([^'\"\n]{1,200})['\"]\?", message)
    return (found[1],) if found else ()


def _cells(message: str) -> tuple[str, ...]:
    return tuple(re.findall(r"cell '([^'\n]{1,64})'", message))


def _tied(message: str) -> tuple[str, ...]:
    return tuple(
        sorted({name for names in re.findall(r" gives (.{1,300}?) to cell", message) for name in names.split(", ")})
    )


def _path(message: str) -> tuple[str, ...]:
    found = re.search(r": (b?(['\"])(?P<quoted>.{1,1000}?)\2)(?=$|\n| -> )", message)
    return (found["quoted"],) if found else ()


# ── the table ──


def _p(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_RULES: Final[tuple[_FailureRule, ...]] = (
    # How a kernel ends, in our own words.
    _FailureRule(kind="resource", types=_p(r"^KernelEnded$"), words=_p(r"out of (?P<about>memory)")),
    _FailureRule(kind="time-out", types=_p(r"^KernelEnded$"), words=_p(r"(?P<about>wall|cpu|CPU) (?:time )?limit")),
    _FailureRule(kind="resource", types=_p(r"^KernelEnded$"), words=_p(r"went over its (?P<about>[\w -]{1,60}) limit")),
    _FailureRule(kind="kernel-lost", types=_p(r"^KernelEnded$")),
    _FailureRule(kind="time-out", types=_p(r"^DeadlineReached$")),
    _FailureRule(kind="refused", types=_p(r"^Interrupted$")),
    # The graph and the language, in marimo's words.
    _FailureRule(
        kind="name-conflict",
        types=_p(r"^multiple-definition$"),
        words=_p(r"^'(?P<about>[^']{1,200})' is also defined"),
        offers=_cells,
    ),
    _FailureRule(kind="name-conflict", types=_p(r"^(?:cycle|setup-refs)$"), about=_tied, offers=_cells),
    _FailureRule(kind="name-conflict", types=_p(r"^strict-execution$")),
    _FailureRule(kind="syntax", types=_p(r"^(?:syntax|import-star|SyntaxError|IndentationError|TabError)$")),
    # Network, before anything else that could match the words of a long chain.
    _FailureRule(
        kind="network-refused", words=_p(r"host '(?P<about>[^'\s]{1,253})' is not approved for this notebook")
    ),
    _FailureRule(kind="network-refused", words=_p(r"50[24] host '(?P<about>[^'\s]{1,253})'")),
    _FailureRule(
        kind="flaky",
        words=_p(r"\b(?:429|5\d\d)\b (?:Client|Server) Error|HTTP Error (?:429|5\d\d)"),
    ),
    _FailureRule(
        kind="network-refused",
        words=_p(
            r"host='(?P<about>[^'\s]{1,253})'.{0,400}"
            r"(?:Failed to resolve|NameResolutionError|unreachable|Errno 13|Tunnel connection failed: 403)"
        ),
    ),
    _FailureRule(
        kind="network-refused",
        words=_p(
            r"Tunnel connection failed: 403|Temporary failure in name resolution|Name or service not known"
            r"|nodename nor servname|Network is unreachable|getaddrinfo failed|403 Client Error|HTTP Error 403"
        ),
    ),
    _FailureRule(kind="network-refused", types=_p(r"(?:^|\.)(?:gaierror|ProxyError)$")),
    # What is not there.
    _FailureRule(kind="missing-package", words=_p(r"^No module named '(?P<about>[\w.]{1,200})'")),
    _FailureRule(kind="missing-package", words=_p(r"Missing optional dependency '(?P<about>[\w.-]{1,200})'")),
    _FailureRule(
        kind="missing-package",
        types=_p(r"(?:ImportError|ModuleNotFoundError)$"),
        words=_p(r"(?:[Ii]nstall|requires?) (?:the )?[`'\"]?(?P<about>[A-Za-z][\w.-]{1,100})[`'\"]?"),
    ),
    _FailureRule(kind="missing-file", words=_p(r"No such file or directory \(os error 2\): (?P<about>[^\n]{1,1000})")),
    _FailureRule(
        kind="missing-file", words=_p(r"No files found that match the pattern \"(?P<about>[^\"\n]{1,1000})\"")
    ),
    _FailureRule(
        kind="missing-file", types=_p(r"^(?:FileNotFoundError|NotADirectoryError|IsADirectoryError)$"), about=_path
    ),
    _FailureRule(
        kind="missing-file",
        words=_p(r"No such file or directory|HTTP Error 404|404 Client Error|unable to open database file"),
        about=_path,
    ),
    _FailureRule(
        kind="missing-column",
        words=_p(r"[Uu]nable to find column \"(?P<about>[^\"\n]{1,300})\""),
        offers=_listed_behind("valid columns:"),
    ),
    _FailureRule(
        kind="missing-column",
        words=_p(r"[Rr]eferenced column \"(?P<about>[^\"\n]{1,300})\" not found"),
        offers=_listed_behind("Candidate bindings:"),
    ),
    _FailureRule(
        kind="missing-column", words=_p(r"Table with name (?P<about>[^\s!]{1,300}) does not exist"), offers=_suggested
    ),
    _FailureRule(kind="missing-column", words=_p(r"no such (?:column|table): (?P<about>\S{1,300})")),
    _FailureRule(
        kind="missing-column",
        words=_p(r"(?:columns expected but not found|[Mm]issing column|columns are missing)"),
        about=_quoted,
    ),
    _FailureRule(
        kind="missing-column",
        types=_p(r"UndefinedVariableError$"),
        words=_p(r"name '(?P<about>[^'\n]{1,300})' is not defined"),
    ),
    _FailureRule(kind="missing-column", types=_p(r"ColumnNotFoundError$"), about=_quoted),
    _FailureRule(kind="missing-column", types=_p(r"(?:^|\.)KeyError$"), about=_key),
    # What may be used up, or takes too long.
    _FailureRule(
        kind="resource", types=_p(r"(?:^|\.)_?(?:Array)?MemoryError$|OutOfMemory"), about=lambda _: ("memory",)
    ),
    _FailureRule(
        kind="resource",
        words=_p(r"Unable to allocate|[Oo]ut of [Mm]emory|Cannot allocate memory"),
        about=lambda _: ("memory",),
    ),
    _FailureRule(
        kind="resource",
        words=_p(r"\[Errno (?:27|28|122)\]|No space left on device|Disk quota exceeded"),
        about=lambda _: ("disk",),
    ),
    _FailureRule(
        kind="resource",
        words=_p(r"can't start new thread|\[Errno (?:11|24)\]|Too many open files"),
        about=lambda _: ("processes",),
    ),
    _FailureRule(kind="resource", types=_p(r"^RecursionError$"), about=lambda _: ("recursion",)),
    _FailureRule(
        kind="resource",
        words=_p(r"\[Errno (?:1|13|30)\] (?:Operation not permitted|Permission denied|Read-only file system): "),
        about=lambda _: ("files",),
    ),
    _FailureRule(
        kind="time-out",
        types=_p(r"(?:^|\.)(?:TimeoutError|TimeoutExpired|Timeout|ReadTimeout|ConnectTimeout|PoolTimeout)$"),
    ),
    _FailureRule(kind="time-out", words=_p(r"\btimed out\b|deadline exceeded")),
    # What comes and goes.
    _FailureRule(
        kind="flaky",
        types=_p(
            r"(?:^|\.)(?:ConnectionResetError|ConnectionAbortedError|RemoteDisconnected|IncompleteRead|ChunkedEncodingError|BrokenPipeError)$"
        ),
    ),
    _FailureRule(
        kind="flaky",
        words=_p(
            r"database is locked|deadlock detected|[Cc]onnection reset by peer|[Rr]emote end closed connection"
            r"|[Tt]ry again later|rate limit|Resource temporarily unavailable"
        ),
    ),
    _FailureRule(
        kind="network-refused", types=_p(r"(?:^|\.)(?:ConnectionRefusedError|ConnectionError|ConnectError|URLError)$")
    ),
    # What the code thinks and the data is not.
    _FailureRule(kind="failed-check", types=_p(r"(?:^|\.)(?:AssertionError|CheckFailed|Failed|SchemaErrors?)$|^Check")),
    _FailureRule(
        kind="syntax",
        types=_p(r"^sql$|(?:ParserException|OperationalError|ProgrammingError)$"),
        words=_p(r"[Ss]yntax [Ee]rror|Parser Error|near \""),
    ),
    _FailureRule(
        kind="name-conflict",
        types=_p(r"^(?:NameError|UnboundLocalError)$"),
        words=_p(r"(?:name|variable) '(?P<about>[^'\n]{1,200})'"),
        offers=_suggested,
    ),
    _FailureRule(kind="name-conflict", types=_p(r"^(?:NameError|UnboundLocalError)$")),
    _FailureRule(
        kind="type-shape",
        types=_p(r"(?:^|\.)AttributeError$"),
        words=_p(r"no attribute '(?P<about>[^'\n]{1,200})'"),
        offers=_suggested,
    ),
    _FailureRule(
        kind="type-shape",
        types=_p(r"(?:^|\.)ImportError$"),
        words=_p(r"cannot import name '(?P<about>[^'\n]{1,200})'"),
        offers=_suggested,
    ),
    _FailureRule(
        kind="type-shape",
        types=_p(
            r"(?:^|\.)(?:Type|Value|Attribute|Index|Import|Lookup|ZeroDivision|Overflow|FloatingPoint|Arithmetic|UnicodeDecode|UnicodeEncode"
            r"|Merge|Parser|EmptyData|LinAlg|Axis|Shape|Dimension|JSONDecode|InvalidOperation|Compute|DuplicateKey|IntCasting\w*"
            r"|OutOfBounds\w*|Specification|DataError|Validation|NotFitted|Indexing|Schema|Assembly|Struct\w*)(?:Error|Exception)?$"
        ),
    ),
    _FailureRule(
        kind="type-shape",
        types=_p(
            r"(?:^|\.)(?:ArrowInvalid|ArrowTypeError|ArrowKeyError|ConversionException|InvalidInputException|BinderException)$"
        ),
    ),
    _FailureRule(
        kind="type-shape",
        types=_p(r"^sql$"),
        words=_p(r"^(?:Binder|Conversion|Invalid Input|Out of Range|Constraint) Error"),
    ),
)
"""From our own words to the libraries', from the certain to the vague."""
