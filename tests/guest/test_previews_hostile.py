"""Values that fight back cost nothing but their own line."""

import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from cellwright_guest.previews import preview, preview_all


class Loops:
    def __repr__(self) -> str:
        while True:
            pass


class Waits:
    def __repr__(self) -> str:
        time.sleep(0.2)
        return "patient"


class Swallows:
    def __repr__(self) -> str:
        while True:
            try:
                time.sleep(1)
            except BaseException:  # noqa: BLE001
                pass


class Raises:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Exits:
    def __repr__(self) -> str:
        sys.exit(3)


class Interrupts:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


class NotText:
    def __repr__(self) -> str:
        number: Any = 3
        return number


class Recurses:
    def __repr__(self) -> str:
        return repr(self)


class Enormous:
    def __repr__(self) -> str:
        return "x" * 50_000_000


class Liar:
    @property
    def __class__(self) -> Any:  # that is the attack
        raise RuntimeError("no class")

    def __getattribute__(self, name: str) -> NoReturn:
        raise RuntimeError(name)

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")


def metaclassed() -> object:
    class Broken(type):
        def __getattribute__(cls, name: str) -> NoReturn:
            raise RuntimeError(name)

    class Metaclassed(metaclass=Broken):
        pass

    return object.__new__(Metaclassed)


class Untidy(dict[str, int]):
    def __len__(self) -> int:
        raise RuntimeError("no length")

    def items(self) -> Any:
        raise RuntimeError("no items")


HOSTILE = [Raises, Exits, Interrupts, NotText, Recurses, Enormous, Liar, metaclassed, Untidy]
ENDLESS = [Loops, Swallows]


@pytest.mark.slow
@pytest.mark.parametrize("make", [*HOSTILE, *ENDLESS])
def test_a_hostile_value_costs_only_its_own_line(make: Callable[[], object]) -> None:
    before, after = object(), [object()]
    shown = preview_all([("before", before), ("bad", make()), ("after", after), ("plain", 1)])
    assert [variable.text for variable in shown if variable.name != "bad"] == [
        "<object object>",
        "[<object object>]",
        "1",
    ]
    assert len(shown[1].text.encode()) <= 600
    assert shown[1].name == "bad"


def test_a_hostile_value_inside_another_is_named() -> None:
    assert preview("x", [1, Raises(), 2]).text.endswith("Raises: its repr raised RuntimeError>, 2]")


@pytest.mark.slow
def test_a_value_that_never_ends_is_said_to() -> None:
    texts = [preview("x", Loops()).text, preview("x", {"a": Swallows()}).text]
    assert ["took too long" in text for text in texts] == [True, True]


def test_a_value_that_waits_for_a_busy_machine_is_shown_all_the_same() -> None:
    [shown] = preview_all([("x", Waits())], seconds=2.0, each_seconds=0.1)
    assert shown.text == "patient"


def test_when_the_time_is_used_up_the_rest_is_named_only() -> None:
    shown = preview_all([("a", Loops()), ("b", object()), ("c", 1)], seconds=0.05)
    assert "the time for previews was used up" in shown[1].text
    assert shown[2].text == "1"


class Prints:
    def __repr__(self) -> str:
        print("to standard output")  # noqa: T201
        sys.stderr.write("to standard error")
        return "Prints()"


def test_what_a_repr_prints_is_discarded(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    assert preview("x", Prints()).text == "Prints()"
    assert sys.stdout is before
    assert capsys.readouterr() == ("", "")


def test_a_timer_and_handler_of_the_person_are_put_back_with_the_time_left() -> None:
    rung: list[int] = []

    def ring(number: int, frame: object) -> None:
        rung.append(number)

    old = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 100, 50)
        preview("x", object())
        left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
        assert 0 < left <= 100
        assert interval == pytest.approx(50)
        assert signal.getsignal(signal.SIGALRM) is ring
        assert rung == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_an_alarm_of_the_person_that_fell_due_meanwhile_still_rings() -> None:
    rung: list[int] = []
    old = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        preview("x", Loops())
        if not rung:
            signal.pause()
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


class TakesTheAlarm:
    def __repr__(self) -> str:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return "mine"


def test_a_repr_that_takes_the_alarm_does_not_keep_it() -> None:
    old = signal.getsignal(signal.SIGALRM)
    preview("x", TakesTheAlarm())
    assert signal.getsignal(signal.SIGALRM) is old
    text = preview("x", Loops()).text
    assert "took too long" in text
