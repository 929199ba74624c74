"""Logs without secrets: every record passes through the masker before any handler sees it."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from cellwright.policy import Masker

_PLAIN = logging.Formatter()


@contextmanager
def masked_logs(masker: Masker) -> Generator[None]:
    """Mask what is logged inside this block, by whichever logger; the process has one such block, its outermost."""
    make = logging.getLogRecordFactory()

    def make_masked(*arguments: Any, **more: Any) -> logging.LogRecord:
        return _masked(make(*arguments, **more), masker)

    logging.setLogRecordFactory(make_masked)
    try:
        yield
    finally:
        logging.setLogRecordFactory(make)


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
