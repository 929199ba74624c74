"""What is logged passes through the masker: message, arguments, errors and stacks, whichever logger and handler."""

from __future__ import annotations

import io
import logging
from collections.abc import Generator

import pytest

from cellwright.telemetry import masked_logs
from tests.tools.guard_driver import MASKER, SECRET


@pytest.fixture
def written() -> Generator[io.StringIO]:
    """What a handler on the root has written."""
    text, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root.addHandler(handler)
    yield text
    root.removeHandler(handler)


class Holder:
    """Something whose text shows a secret."""

    def __str__(self) -> str:
        return f"holder of {SECRET}"


class Unreadable:
    """Something that has no text."""

    def __str__(self) -> str:
        raise ValueError(SECRET)


def test_messages_arguments_errors_and_stacks_are_masked(written: io.StringIO) -> None:
    logger = logging.getLogger("cellwright.anything")
    with masked_logs(lambda: MASKER):
        logger.warning("connect with " + SECRET)
        logger.warning("connect with %s and %s", SECRET[:10], Holder())
        logger.warning("%s", Unreadable())
        try:
            raise ValueError(f"refused {SECRET}")
        except ValueError:
            logger.exception("It failed", stack_info=True)
    text = written.getvalue()
    assert MASKER.find(text) == ()
    assert "cellwright.anything connect with [masked PASSWORD] and holder of [masked PASSWORD]" in text
    assert "ValueError: refused [masked PASSWORD]" in text
    assert "unreadable log message" in text


def test_outside_the_block_logging_is_as_it_was(written: io.StringIO) -> None:
    before = logging.getLogRecordFactory()
    with masked_logs(lambda: MASKER):
        assert logging.getLogRecordFactory() is not before
    assert logging.getLogRecordFactory() is before
    logging.getLogger("cellwright").warning("%s apples", 3)
    assert written.getvalue() == "cellwright 3 apples\n"


def test_without_a_masker_whatever_looks_like_a_secret_is_masked(written: io.StringIO) -> None:
    with masked_logs():
        logging.getLogger("a.library").warning("key %s refused", "sk-proj-" + "a1B2c3D4" * 6)
    assert "a1B2c3D4" not in written.getvalue()
