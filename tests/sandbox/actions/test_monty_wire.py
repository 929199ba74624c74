"""Monty's own protocol, as its worker speaks it: checked against monty's binary and against its makers' client."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pydantic_monty
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.sandbox.actions.inside import events, protobuf, requests, values
from cellwright.sandbox.actions.inside.interpreter import Interpreter, InterpreterLost
from cellwright.sandbox.actions.inside.plain import describe, plain
from cellwright.sandbox.actions.place import command

MONTY = command()[-2]
CONFIGURATION = requests.configure(
    version=importlib.metadata.version("pydantic-monty-runtime"),
    memory_bytes=64 << 20,
    recursion_depth=500,
    suspensions=1000,
    seconds=30,
    stubs="",
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=40,
)
KINDS = [
    "None", "True", "0", "-1", "2**63 - 1", "-2**63", "2**70", "-2**70", "1.5", "-0.0", "''", "'\\u20ac'", "b'\\xff'",
    "[]", "[[], (), {}]", "(1, 'a')", "{1, 2}", "frozenset({3})", "{'a': {1: [2]}, 1.5: None}",
    "datetime.date(2026, 1, 2)", "datetime.time(1, 2, 3)", "datetime.datetime(2026, 1, 2, 3, 4, 5, 6)",
    "datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))",
    "decimal.Decimal('-1.50')", "pathlib.Path('/a/b')", "ValueError('no')", "Point(3)", "[Point([1])] * 2",
    "namedtuple('P', 'a b')(1, 'x')", "range(3)", "enumerate('ab')", "{'a': 1}.items()", "lambda: 1",
    "['shared'] * 300",
]  # fmt: skip
HEAD = """
import datetime, decimal, pathlib
from collections import namedtuple
from dataclasses import dataclass
@dataclass
class Point:
    x: int
"""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    interpreter = Interpreter(MONTY)
    yield interpreter
    interpreter.end()


@pytest.fixture(scope="module")
def client() -> Iterator[pydantic_monty.Monty]:
    with pydantic_monty.Monty(binary_path=MONTY) as client:
        yield client


def said(interpreter: Interpreter, request: bytes) -> events.Event:
    interpreter.ask(request)
    return interpreter.event(seconds=60)


def begun(interpreter: Interpreter, code: str) -> events.Event:
    interpreter.begin(CONFIGURATION)
    interpreter.settle()
    return said(interpreter, requests.feed(code, is_checked=False))


def told_by(client: pydantic_monty.Monty, code: str) -> Any:
    """As its makers' client reads it, in the words of JSON."""
    with client.checkout() as session:
        value = session.feed_run(code)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    return plain(_known(value), describe)


def _known(value: Any) -> Any:
    if isinstance(value, list):
        return [_known(item) for item in value]
    return values.Instance(value.attributes) if isinstance(value, pydantic_monty.MontyClassProxy) else value


@pytest.mark.parametrize("expression", KINDS)
def test_a_value_is_read_as_montys_own_client_reads_it(
    interpreter: Interpreter, client: pydantic_monty.Monty, expression: str
) -> None:
    complete = begun(interpreter, HEAD + expression)
    assert isinstance(complete, events.Complete)
    assert plain(complete.value(), describe) == told_by(client, HEAD + expression)


@given(value=JSON)
def test_an_answer_arrives_in_the_program_as_it_was_given(interpreter: Interpreter, value: Any) -> None:
    call = begun(interpreter, "await look('a')")
    assert isinstance(call, events.Call)
    assert call.is_awaited
    complete = said(interpreter, requests.answer_awaited([(call.id, {"value": value})]))
    assert isinstance(complete, events.Complete)
    assert complete.value() == value


def test_arguments_are_read_by_position_and_by_name(interpreter: Interpreter) -> None:
    call = begun(interpreter, "await look('a', [1, {'b': None}], *(2, 3), c=(True,), **{'d': 'e'})")
    assert isinstance(call, events.Call)
    assert call.arguments() == (("a", [1, {"b": None}], 2, 3), {"c": (True,), "d": "e"})


def test_every_exception_that_can_be_raised_in_a_program_is_known() -> None:
    assert set(get_args(pydantic_monty.ExcType)) == requests.EXCEPTIONS


def test_a_failure_is_told_with_its_kind_and_the_line_it_was_raised_in(interpreter: Interpreter) -> None:
    raised = begun(interpreter, "def f():\n    raise KeyError('k')\n\nf()")
    assert raised == events.Raised("KeyError", "k", 2)


def test_an_interpreter_that_does_not_answer_is_lost_in_time(tmp_path: Path) -> None:
    interpreter = Interpreter(_pretender(tmp_path, "import sys\nsys.stdin.read()"))
    interpreter.ask(requests.DUMP)
    with pytest.raises(InterpreterLost, match="did not stop in time") as lost:
        interpreter.event(seconds=0.01)
    interpreter.end()
    assert lost.value.limit == "seconds"


def test_an_interpreter_that_ended_is_lost_with_the_reason(tmp_path: Path) -> None:
    for end, reason in (("raise SystemExit(65)", "memory limit"), ("import os; os.abort()", "by signal 6")):
        interpreter = Interpreter(_pretender(tmp_path, end))
        with pytest.raises(InterpreterLost, match=reason):
            interpreter.event(seconds=60)
        interpreter.end()


@pytest.mark.parametrize(
    "message",
    [
        b"", b"\x12", b"\x12\x7f", b"\xff" * 20, b"\x00\x00", b"\x7a\x00", b"\x08\x01", b"\x13\x01a",
        b"\x32\x06\x12\x04\x12\x02\x5a\x09", b"\x12\x03\x12\x01",
    ],
)  # fmt: skip
def test_bytes_that_are_no_event_are_refused(message: bytes) -> None:
    with pytest.raises(protobuf.BadMessage):
        event = events.read(message)
        assert isinstance(event, events.Complete)
        event.value()


@pytest.mark.parametrize(
    "row",
    [
        b"\x12\x05Z\x03\n\x01\x00",  # a list of itself
        b"\x12\x05Z\x03\n\x01\x05",  # a list of what is not there
        b"\x12\x00",  # a value that is nothing
        b"\x12\x04\x28\x02\x28\x02",  # a value that is two
        b"\x12\x06r\x04\n\x02\x08\x09",  # a dict with a key that is not there
    ],
)
def test_values_that_are_made_of_nothing_are_refused(row: bytes) -> None:
    with pytest.raises(protobuf.BadMessage):
        values.read(row)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(message: bytes) -> None:
    try:
        protobuf.fields(message)
    except protobuf.BadMessage:
        return
    assert sum(len(body) for _, _, body in protobuf.fields(message)) <= len(message)


@given(st.integers(min_value=0, max_value=(1 << 64) - 1), st.binary(max_size=300))
def test_what_is_written_is_read_again(number: int, body: bytes) -> None:
    written = protobuf.count(3, number) + protobuf.part(700, body)
    assert protobuf.fields(written) == [(3, number, b""), (700, 0, body)]


def _pretender(directory: Path, script: str) -> str:
    """A program that is started as monty is."""
    path = directory / "monty"
    path.write_text(f"#!{sys.executable}\n{script}\n")
    path.chmod(0o755)
    return str(path)
