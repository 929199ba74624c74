"""How a document is put to a model, and the shape its answer must have. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from cellwright.agents.prompt.prompt import fence, fence_rule
from cellwright.documents.document import Document
from cellwright.runs.extract.rows import SaidRow, SaidValue
from cellwright.runs.goal.extraction_order import ExtractedField, ExtractionOrder, FieldType

ROLE: Final = "extractor"
PART_CHARACTERS: Final = 48_000
"""Of a document that is longer, a model reads one such part after another."""
_MOST_ROWS: Final = 1_000
_FORMS: Final[dict[FieldType, str]] = {
    "text": "the words as they stand in the quote",
    "number": "a plain number with a point for decimals and no separators, no unit: 1234.5",
    "integer": "a whole number without separators",
    "date": "YYYY-MM-DD",
    "boolean": "true or false",
}
_RULES: Final = """\
You read one document and write down what it says, field by field. For each field give the value and a quote: the \
shortest passage, copied character by character from one page of the document, that says this value. Where the \
document does not say a value, the field is null: never guess, never compute, never take a value from elsewhere. A \
value whose quote is not in the document word for word, or does not contain it, is thrown away. `page` is the number \
that stands above the page of the quote. Where the document says several values that would do for a field, such as \
2013 and 2026 for a year, give the one that fits best, and `several` is true; else it is false."""
_ONE: Final = "The document is one row: give exactly one."
_MANY: Final = "The document may hold several entries: give one row for each, in the order they stand; none is [] ."
_SAID: Final = TypeAdapter[list[dict[str, SaidValue | None]]](list[dict[str, SaidValue | None]])


def system_text(order: ExtractionOrder, nonce: str) -> str:
    """What a model is to do, the same for all documents of a run."""
    fields = "\n".join(f"- {each.name} ({_form(each)}){f': {each.says}' if each.says else ''}" for each in order.fields)
    return f"{_RULES}\n{_MANY if order.has_many_rows else _ONE}\n\nFields:\n{fields}\n\n{fence_rule(nonce)}"


def _form(field: ExtractedField) -> str:
    if field.choices:
        return f"one of: {', '.join(field.choices)}; the quote is what shows which"
    return f"{field.type}: {_FORMS[field.type]}"


def nonce_of(run: str) -> str:
    """A mark that no document can know."""
    return hashlib.sha256(f"extraction {run}".encode()).hexdigest()[:10]


def parts_of(document: Document) -> Iterator[str]:
    """The document in parts a model can read at once, each page under its number."""
    part, size = list[str](), 0
    for page in document.pages:
        for start in range(0, max(1, len(page.text)), PART_CHARACTERS):
            text = f"[page {page.number}]\n{page.text[start : start + PART_CHARACTERS]}"
            if part and size + len(text) > PART_CHARACTERS:
                yield "\n\n".join(part)
                part, size = [], 0
            part.append(text)
            size += len(text)
    if part:
        yield "\n\n".join(part)


def document_text(document: Document, part: str, nonce: str, *, number: int, of: int) -> str:
    """One part of a document as a model reads it."""
    which = f" This is part {number} of {of}." if of > 1 else ""
    title = f" Its title: {document.title}." if document.title else ""
    fenced = fence(f"{title.strip()}\n{part}".strip(), nonce=nonce, source=document.name)
    return f"The document:{which}\n{fenced}"


def answer_schema(fields: Sequence[ExtractedField]) -> dict[str, Any]:
    """The shape of an answer: rows of fields, each with its evidence or null."""
    row = {
        "type": "object",
        "properties": {each.name: {"anyOf": [_said_schema(each), {"type": "null"}]} for each in fields},
        "required": [each.name for each in fields],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": row}},
        "required": ["rows"],
        "additionalProperties": False,
    }


def _said_schema(field: ExtractedField) -> dict[str, Any]:
    value = {"type": "string", "enum": list(field.choices)} if field.choices else {"type": "string"}
    properties = {
        "value": value,
        "quote": {"type": "string"},
        "page": {"type": "integer"},
        "several": {"type": "boolean"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_answer(value: object) -> tuple[SaidRow, ...] | None:
    """The rows of an answer; None if it is none."""
    rows = value.get("rows") if isinstance(value, Mapping) else None
    if not isinstance(rows, list):
        return None
    try:
        # Models write numbers where a text was asked for.
        return tuple(_SAID.validate_python([_texts(row) for row in rows[:_MOST_ROWS]]))
    except (ValidationError, AttributeError):
        return None


def _texts(row: Any) -> Any:
    return {
        name: {**said, "value": str(said.get("value") if said.get("value") is not None else "").strip()}
        if isinstance(said, dict) and not isinstance(said.get("value"), bool)
        else {**said, "value": str(said["value"]).lower()}
        if isinstance(said, dict)
        else said
        for name, said in row.items()
    }
