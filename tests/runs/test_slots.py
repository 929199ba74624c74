"""Whose turn it is: fair between people, then priority, then first come; one run on a notebook at a time."""

from __future__ import annotations

from collections.abc import Collection

import anyio

from cellwright.runs.execute.slots import RunSlots, SlotLimits, SlotRequest, next_slots, why_it_waits
from cellwright.runs.goal.goal import Goal


def entry(run: str, person: str = "ada", *, notebook: str = "", priority: int = 0, came: int = 0) -> SlotRequest:
    return SlotRequest(run=run, person=person, notebook=notebook or f"/{run}.py", priority=priority, came=came)


FIVE = SlotLimits(at_once=5, per_person=3)


def turns_of(
    waiting: list[SlotRequest], going: list[SlotRequest], idle: Collection[str], limits: SlotLimits
) -> tuple[str, ...]:
    """The runs that may begin, by name."""
    names = {each.came: each.run for each in waiting}
    assert len(names) == len(waiting)
    return tuple(names[came] for came in next_slots(waiting, going, idle, limits))


def test_nobody_gets_more_than_their_share_while_others_wait() -> None:
    waiting = [entry(f"a{number}", came=number) for number in range(4)] + [entry("b", "bob", came=9)]
    assert turns_of(waiting, [], (), SlotLimits(at_once=2, per_person=9)) == ("a0", "b")


def test_higher_priority_comes_first_among_ones_own() -> None:
    waiting = [entry("slow", came=1), entry("quick", came=2, priority=5)]
    assert turns_of(waiting, [], (), SlotLimits(at_once=1)) == ("quick",)


def test_a_person_has_a_limit_of_their_own() -> None:
    waiting = [entry(f"a{number}", came=number) for number in range(9)]
    assert turns_of(waiting, [], (), FIVE) == ("a0", "a1", "a2")


def test_runs_that_wait_for_a_person_make_room() -> None:
    going = [entry(f"a{number}") for number in range(3)]
    assert turns_of([entry("next")], going, (), FIVE) == ()
    assert turns_of([entry("next")], going, ("a1",), FIVE) == ("next",)


def test_two_runs_never_get_one_notebook_at_the_same_time() -> None:
    waiting = [entry("one", notebook="/n.py", came=1), entry("two", "bob", notebook="/n.py", came=2)]
    assert turns_of(waiting, [], (), FIVE) == ("one",)
    assert turns_of(waiting[1:], waiting[:1], ("one",), FIVE) == ()
    assert "works on this notebook" in why_it_waits(waiting[1], waiting[:1], FIVE)


def goal(notebook: str, person: str = "ada") -> Goal:
    return Goal(words="x", notebook=notebook, project="/", person=person)


async def test_the_next_run_begins_when_the_notebook_is_free_and_was_told_why_it_waited() -> None:
    noted: list[tuple[str, str]] = []
    order: list[str] = []
    first_may_end, second_waits = anyio.Event(), anyio.Event()

    async def note(run: str, why: str) -> None:
        noted.append((run, why))
        second_waits.set()

    async def nobody() -> Collection[str]:
        return ()

    turns = RunSlots(SlotLimits(), note=note, idle=nobody)

    async def first() -> None:
        async with turns.take("one", goal("/n.py")):
            order.append("one begins")
            await first_may_end.wait()
            order.append("one ends")

    async def second() -> None:
        async with turns.take("two", goal("/n.py", "bob")):
            order.append("two begins")

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(second)
            await second_waits.wait()
            first_may_end.set()
    assert order == ["one begins", "one ends", "two begins"]
    assert noted[0][0] == "two"
    assert "The run one works on this notebook" in noted[0][1]


async def test_one_that_gives_up_waiting_is_forgotten() -> None:
    async def note(_: str, __: str) -> None:
        pass

    async def nobody() -> Collection[str]:
        return ()

    turns = RunSlots(SlotLimits(at_once=1), note=note, idle=nobody)
    with anyio.fail_after(120):
        async with turns.take("one", goal("/a.py")):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:

                    async def give_up() -> None:
                        async with turns.take("two", goal("/b.py")):
                            raise AssertionError("it was not its turn")

                    tasks.start_soon(give_up)
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
        async with turns.take("three", goal("/b.py")):
            pass


async def test_a_run_that_comes_again_while_its_last_attempt_ends_gets_its_turn() -> None:
    async def note(_: str, __: str) -> None:
        pass

    async def nobody() -> Collection[str]:
        return ()

    turns = RunSlots(SlotLimits(), note=note, idle=nobody)
    order: list[str] = []
    began, may_end = anyio.Event(), anyio.Event()

    async def cut_off() -> None:
        async with turns.take("r", goal("/n.py")):
            began.set()
            await may_end.wait()
            order.append("the first ends")

    async def resumed() -> None:
        async with turns.take("r", goal("/n.py")):
            order.append("the second begins")

    with anyio.move_on_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cut_off)
            await began.wait()
            tasks.start_soon(resumed)
            await anyio.wait_all_tasks_blocked()
            may_end.set()
    assert order == ["the first ends", "the second begins"]
