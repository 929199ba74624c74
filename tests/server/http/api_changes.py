"""What a change of the API would break for clients that were made from the document before. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]
Way = Literal["sent", "told"]
"""Sent by clients, or told to them."""


def breaking_changes(before: Json, after: Json) -> list[str]:
    """One line for each; none where the version says that it is another API."""
    if before["info"]["version"] != after["info"]["version"]:
        return []
    found = list[str]()
    for path, methods in before["paths"].items():
        for method, said in methods.items():
            where, now = f"{method.upper()} {path}", after["paths"].get(path, {}).get(method)
            if now is None:
                found.append(f"{where} is gone")
            else:
                found += _Comparison(before=before, after=after).operation(where, said, now)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    before: Json
    after: Json

    def operation(self, where: str, old: Json, new: Json) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{where} is called otherwise"
        yield from self._parameters(where, old, new)
        sent, sent_now = old.get("requestBody"), new.get("requestBody")
        if sent_now is not None and sent_now.get("required") and not (sent and sent.get("required")):
            yield f"{where} needs a body"
        yield from self._contents(where, (sent or {}).get("content", {}), (sent_now or {}).get("content", {}), "sent")
        for status, answer in old["responses"].items():
            if status not in new["responses"]:
                yield f"{where} does not answer {status} any more"
            else:
                told, told_now = answer.get("content", {}), new["responses"][status].get("content", {})
                yield from self._contents(where, told, told_now, "told")

    def _parameters(self, where: str, old: Json, new: Json) -> Iterator[str]:
        known, now = ({(each["in"], each["name"]): each for each in said.get("parameters", [])} for said in (old, new))
        yield from (f"{where} does not take {name} any more" for place, name in known if (place, name) not in now)
        for key, each in now.items():
            if each.get("required") and not known.get(key, {}).get("required"):
                yield f"{where} needs {key[1]}"
            if key in known:
                yield from self._schema(f"{where} {key[1]}", known[key]["schema"], each["schema"], "sent", frozenset())

    def _contents(self, where: str, old: Json, new: Json, way: Way) -> Iterator[str]:
        for media, said in old.items():
            if media not in new:
                yield f"{where}: no {media} any more"
            else:
                yield from self._schema(where, said["schema"], new[media]["schema"], way, frozenset())

    def _schema(self, where: str, old: Json, new: Json, way: Way, seen: frozenset[str]) -> Iterator[str]:
        if (name := old.get("$ref", "")) in seen and name:
            return
        seen |= {name}
        old, new = _resolved(self.before, old), _resolved(self.after, new)
        options, options_now = _options(self.before, old), _options(self.after, new)
        # What is told must be among what was known, what is sent among what is still taken.
        lost = options.keys() - options_now.keys() if way == "sent" else options_now.keys() - options.keys()
        if lost:
            names = ", ".join(sorted(lost))
            yield f"{where}: no {names} any more" if way == "sent" else f"{where}: {names} is new"
        for label in options.keys() & options_now.keys():
            yield from self._shape(where, options[label], options_now[label], way, seen)

    def _shape(self, where: str, old: Json, new: Json, way: Way, seen: frozenset[str]) -> Iterator[str]:
        if way == "sent" and "enum" in new and (gone := set(old.get("enum", ["any other word"])) - set(new["enum"])):
            yield f"{where}: no {', '.join(sorted(map(str, gone)))} any more"
        fields, fields_now = old.get("properties", {}), new.get("properties", {})
        needed, needed_now = set(old.get("required", [])), set(new.get("required", []))
        yield from (f"{where}: no {field} any more" for field in fields if field not in fields_now)
        gone = needed_now - needed if way == "sent" else (needed - needed_now) & fields_now.keys()
        yield from (f"{where}: {'needs' if way == 'sent' else 'may be without'} {field}" for field in sorted(gone))
        for field in fields.keys() & fields_now.keys():
            yield from self._schema(f"{where}: {field}", fields[field], fields_now[field], way, seen)
        for inside in ("items", "additionalProperties"):
            if isinstance(old.get(inside), dict) and isinstance(new.get(inside), dict):
                yield from self._schema(where, old[inside], new[inside], way, seen)


def _resolved(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _options(document: Json, schema: Json) -> dict[str, Json]:
    """What it may be, each by what tells it apart."""
    among = schema.get("anyOf") or schema.get("oneOf")
    if not among:
        return {_label(schema): schema}
    resolved = [_resolved(document, each) for each in among]
    return {label: each for one in resolved for label, each in _options(document, one).items()}


def _label(schema: Json) -> str:
    fixed = [str(each["const"]) for each in schema.get("properties", {}).values() if "const" in each]
    return " ".join([str(schema.get("const", schema.get("type", "anything"))), *fixed])
