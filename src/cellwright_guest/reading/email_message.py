"""E-mails as files: who wrote to whom and when, and what; attachments are named and not read."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Final

from cellwright_guest.page_text import readable
from cellwright_guest.reading.page_budget import PageBudget
from cellwright_guest.reading.records import UnreadableDocument

_HEADS: Final = ("From", "To", "Cc", "Date", "Subject")
_MOST_BYTES: Final = 50 << 20
_MOST_PARTS: Final = 500
_HEAD_CHARACTERS: Final = 2_000


def read_email(path: Path, budget: PageBudget) -> str:
    """Its subject. Raises `UnreadableDocument`."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UnreadableDocument("too-large", f"it is an e-mail of more than {_MOST_BYTES >> 20} MB")
    try:
        message = BytesParser(policy=policy.default).parsebytes(data)
        heads = [f"{name}: {value}" for name in _HEADS if (value := _head(message, name))]
        if not heads:
            raise UnreadableDocument("broken", "it is no e-mail: it has no sender, date or subject")
        text = _body(message)
        attached = [str(part.get_filename() or "without a name") for part in _parts(message) if part.is_attachment()]
    # What a stranger's message makes of the standard library's parser.
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as problem:
        raise UnreadableDocument("broken", f"it is no e-mail that can be read: {problem}") from None
    budget.add_parts("\n".join(heads) + "\n\n" + text)
    budget.notices += [f"attachment {name!r} was not read" for name in attached]
    return _head(message, "Subject")


def _head(message: EmailMessage, name: str) -> str:
    return str(message.get(name) or "")[:_HEAD_CHARACTERS]


def _body(message: EmailMessage) -> str:
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    text = str(body.get_content())
    return readable(text, "")[1] if body.get_content_type() == "text/html" else text


def _parts(message: EmailMessage) -> list[EmailMessage]:
    found = list[EmailMessage]()
    for part in message.walk():
        if isinstance(part, EmailMessage):
            found.append(part)
        if len(found) > _MOST_PARTS:
            raise UnreadableDocument("too-large", f"it has more than {_MOST_PARTS} parts")
    return found
