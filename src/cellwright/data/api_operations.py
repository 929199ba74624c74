"""What an API can be asked, from its OpenAPI document: operations with typed arguments, and the requests they become.

A document is a stranger's text: bounded, its references followed only inside it, its addresses not believed. Pure.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast
from urllib.parse import quote, urlencode, urlsplit

import yaml

MOST_CHARACTERS: Final = 8 << 20
_MOST_OPERATIONS: Final = 2_000
_MOST_PARAMETERS: Final = 60
_DEEPEST: Final = 12
_PATH: Final = re.compile(r"(?:/(?!/|\.{1,2}(?:/|$))[^\s?#\\/]{0,200}){1,50}")
"""Below the connection's address for whoever reads it."""
_LONGEST_WORDS: Final = 400
_METHODS: Final = ("get", "head", "post", "put", "patch", "delete")
_READING: Final = frozenset({"get", "head"})
_KEPT_KEYS: Final = frozenset({"enum", "format", "minimum", "maximum", "minLength", "maxLength", "default"})
"""Of a value's schema. A stranger's pattern could take forever to match."""
_OURS: Final = frozenset({("header", "authorization"), ("header", "accept")})
"""What the connection says, and not whoever asks."""
_SIMPLE_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array"})
_SWAGGER_TYPES: Final = ("type", "enum", "items", "format", "minimum", "maximum", "default")

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParameter:
    """One argument of an operation."""

    name: str
    """As code writes it."""
    sent_as: str
    place: Literal["path", "query"]
    schema: Schema
    is_required: bool = False
    is_repeated: bool = True
    """Of a list: the name once for each value; else its values after commas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """One thing an API can be asked."""

    name: str
    method: str
    """Upper case."""
    path: str
    """With names in braces, below the connection's address."""
    words: str = ""
    """What it is for."""
    parameters: tuple[ApiParameter, ...] = ()

    @property
    def arguments(self) -> Schema:
        """JSON schema of its arguments, an object."""
        properties = {each.name: each.schema for each in self.parameters}
        required = [each.name for each in self.parameters if each.is_required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDocument:
    """Everything a document says that can be asked."""

    title: str = ""
    operations: tuple[ApiOperation, ...] = ()
    left_out: tuple[str, ...] = ()
    """Operations that cannot be asked this way, each with why."""

    @property
    def reading(self) -> tuple[ApiOperation, ...]:
        """Those that only read."""
        return tuple(each for each in self.operations if each.method.lower() in _READING)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadApiDocument:
    """No OpenAPI document, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BadArguments:
    """What no request can be made of."""

    why: str


def read_api_document(text: str) -> ApiDocument | BadApiDocument:
    """An OpenAPI 3 or Swagger 2 document, as JSON or YAML."""
    if len(text) > MOST_CHARACTERS:
        return BadApiDocument(why=f"It has more than {MOST_CHARACTERS:,} characters.")
    root = _parsed(text)
    if isinstance(root, str):
        return BadApiDocument(why=root)
    if not isinstance(root.get("openapi") or root.get("swagger"), str) or not isinstance(root.get("paths"), Mapping):
        return BadApiDocument(why="It is no OpenAPI document: `openapi` or `paths` is missing.")
    return _DocumentReader(root).read()


def request_of(operation: ApiOperation, arguments: Mapping[str, Any]) -> str | BadArguments:
    """Path and query of a request; the arguments were checked against the operation's schema."""
    path, query = operation.path, list[tuple[str, str]]()
    for each in operation.parameters:
        value = arguments.get(each.name)
        if value is None:
            continue
        words = [_word(item) for item in cast("list[Any]", value)] if isinstance(value, list) else [_word(value)]
        if each.place == "query":
            query += [(each.sent_as, word) for word in (words if each.is_repeated else [",".join(words)])]
            continue
        filled = ",".join(words)
        # A server would take these for another path than the one that was meant.
        if filled in {"", ".", ".."}:
            return BadArguments(why=f"{each.name} cannot be {filled!r}.")
        path = path.replace(f"{{{each.sent_as}}}", quote(filled, safe=""))
    return f"{path}?{urlencode(query)}" if query else path


def _word(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


# ── reading ──


class _FewAliases(yaml.SafeLoader):
    """Values that stand for others are refused: a few of them make billions."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has aliases")
        return super().compose_node(parent, index)


def _parsed(text: str) -> Mapping[str, Any] | str:
    """The document, or why it is none."""
    try:
        root: Any = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, Loader=_FewAliases)
    except (ValueError, yaml.YAMLError) as error:
        return f"It is neither JSON nor plain YAML: {' '.join(str(error).split())[:200]}."
    except RecursionError:
        return "It is nested too deeply."
    return root if isinstance(root, Mapping) else "It is no object."


class _DocumentReader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._taken = set[str]()
        self._left_out = list[str]()

    def read(self) -> ApiDocument:
        title = self._mapping(self._root.get("info")).get("title")
        return ApiDocument(
            title=_line(title), operations=tuple(self._operations()), left_out=tuple(self._left_out[:100])
        )

    def _operations(self) -> Iterator[ApiOperation]:
        base, count = self._base(), 0
        for path, item in self._mapping(self._root["paths"]).items():
            if not isinstance(path, str) or not _PATH.fullmatch(path):
                continue
            around = self._mapping(item)
            for method in _METHODS:
                if isinstance(around.get(method), Mapping) and count < _MOST_OPERATIONS:
                    count += 1
                    operation = self._operation(method, f"{base}{path}", around, self._mapping(around[method]))
                    if operation is not None:
                        yield operation

    def _base(self) -> str:
        """Below the connection's host; which host that is, the connection says, and never a document."""
        servers = self._root.get("servers")
        first = self._mapping(servers[0]).get("url") if isinstance(servers, list) and servers else None
        given = first if isinstance(first, str) else self._root.get("basePath")
        if not isinstance(given, str) or "{" in given:
            return ""
        try:
            path = urlsplit(given).path.rstrip("/")
        except ValueError:
            return ""
        return path if path.startswith("/") and ".." not in path else ""

    def _operation(
        self, method: str, path: str, around: Mapping[str, Any], given: Mapping[str, Any]
    ) -> ApiOperation | None:
        said = given.get("operationId")
        name = self._name(said if isinstance(said, str) and said else f"{method} {path}")
        words = " ".join(filter(None, (_line(given.get("summary")), _line(given.get("description")))))
        parameters, problem = self._parameters([*_listed(around.get("parameters")), *_listed(given.get("parameters"))])
        missing = set(re.findall(r"{([^{}]*)}", path)) - {each.sent_as for each in parameters if each.place == "path"}
        if missing:
            problem = f"the document does not describe {', '.join(sorted(missing))[:100]}"
        if problem:
            self._left_out.append(f"{method.upper()} {path[:200]}: {problem}")
            return None
        return ApiOperation(
            name=name, method=method.upper(), path=path, words=words[:_LONGEST_WORDS], parameters=parameters
        )

    def _name(self, said: str) -> str:
        """As code and models can write it, and no other operation has it."""
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", said)
        plain = re.sub(r"\W+", "_", snake, flags=re.ASCII).strip("_").lower()[:60] or "operation"
        plain = f"op_{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) else plain
        name, count = plain, 1
        while name in self._taken:
            count += 1
            name = f"{plain}_{count}"
        self._taken.add(name)
        return name

    def _parameters(self, given: Sequence[Any]) -> tuple[tuple[ApiParameter, ...], str]:
        """Those of an operation, and why it cannot be asked, if it cannot."""
        found = dict[tuple[str, str], ApiParameter]()
        names = _Names()
        for each in given[:_MOST_PARAMETERS]:
            one = self._mapping(each)
            sent_as, place = one.get("name"), one.get("in")
            if not isinstance(sent_as, str) or not sent_as or len(sent_as) > 200:
                continue
            is_required = one.get("required") is True
            if place in {"path", "query"}:
                found[sent_as, place] = ApiParameter(
                    name=names.of(sent_as),
                    sent_as=sent_as,
                    place=place,
                    schema=self._schema(one),
                    is_required=is_required or place == "path",
                    is_repeated=one.get("explode") is not False and one.get("collectionFormat") in {None, "multi"},
                )
            elif is_required and (place, sent_as.lower()) not in _OURS:
                return (), f"it needs {sent_as[:80]!r} in its {str(place)[:20]}"
        return tuple(found.values()), ""

    def _schema(self, one: Mapping[str, Any]) -> Schema:
        """What a value may be; what is too intricate may be any text."""
        given = self._mapping(one.get("schema")) or {key: one[key] for key in _SWAGGER_TYPES if key in one}
        shape = self._plain(given, 0)
        if words := _line(one.get("description")):
            shape["description"] = words[:_LONGEST_WORDS]
        return shape

    def _plain(self, given: Mapping[str, Any], depth: int) -> Schema:
        kinds = given.get("type")
        if isinstance(kinds, list):
            kinds = next((kind for kind in cast("list[Any]", kinds) if kind != "null"), None)
        if kinds not in _SIMPLE_TYPES or depth > 2:
            return {"type": "string"}
        shape = {
            key: value for key, value in given.items() if key in _KEPT_KEYS and key not in {"items", "description"}
        }
        shape["type"] = kinds
        if not isinstance(shape.get("enum", []), list) or len(shape.get("enum", [])) > 200:
            shape.pop("enum")
        if kinds == "array":
            shape["items"] = self._plain(self._mapping(given.get("items")), depth + 1)
        return shape

    def _mapping(self, value: Any) -> Mapping[str, Any]:
        """An object, also where it is somewhere else in the document; empty where it is none."""
        for _ in range(_DEEPEST):
            if not isinstance(value, Mapping):
                return {}
            found = cast("Mapping[str, Any]", value)
            reference = found.get("$ref")
            if not isinstance(reference, str):
                return found
            value = self._referred(reference)
        return {}

    def _referred(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            return None
        found: Any = self._root
        for part in reference[2:].split("/")[:_DEEPEST]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
        return found


@dataclass(slots=True)
class _Names:
    taken: set[str] = field(default_factory=set[str])

    def of(self, sent_as: str) -> str:
        """As code writes it, once."""
        plain = re.sub(r"\W+", "_", sent_as, flags=re.ASCII).strip("_")[:60] or "value"
        plain = f"{plain}_" if keyword.iskeyword(plain) else f"_{plain}" if plain[0].isdigit() else plain
        while plain in self.taken:
            plain += "_"
        self.taken.add(plain)
        return plain


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _line(value: Any) -> str:
    """A stranger's words in one line, without what nobody sees."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(each if each.isprintable() else " " for each in value[:2_000]).split())
