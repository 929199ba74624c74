"""Logs without secrets: every record passes through the masker before any handler sees it."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellwright.policy.masking.masker import Masker

_PLAIN = logging.Formatter()


@contextmanager
def masked_logs(masker: Callable[[], Masker] | None = None) -> Generator[None]:
    """Mask what is logged inside this block, by whichever logger; the process has one such block, its outermost.

    `masker` is asked for at the first record; without it, whatever looks like a secret is masked.
    """
    make = logging.getLogRecordFactory()
    ask = cache(masker or _by_looks)

    def make_masked(*arguments: Any, **more: Any) -> logging.LogRecord:
        return _masked(make(*arguments, **more), ask())

    logging.setLogRecordFactory(make_masked)
    try:
        yield
    finally:
        logging.setLogRecordFactory(make)


def _by_looks() -> Masker:
    # Loaded when there is something to mask: most commands log nothing.
    from cellwright.policy.masking.masker import Masker

    return Masker.of(salt=secrets.token_bytes(16))


def _masked(record: logging.LogRecord, masker: Masker) -> logging.LogRecord:
    """The record as plain text: an argument could hold a secret that its text shows only when it is formatted."""
    record.msg, record.args = masker.mask(_message(record)).text, None
    if record.exc_info:
        # Handlers print this text instead of formatting the error again.
        record.exc_text = masker.mask(_PLAIN.formatException(record.exc_info)).text
        record.exc_info = None
    if record.stack_info:
        record.stack_info = masker.mask(record.stack_info).text
    return record


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - a foreign argument's __str__ may raise anything; logging never does
        return f"<unreadable log message {record.msg!r}: {type(error).__name__}>"
