"""Kept files are nobody's but the project's, and many of them are kept on a person's terms: all, or none and said."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import psutil
import pytest

from cellwright.remedies import remedy
from cellwright.sandbox.host.file_changes import FileChange, KeepReport, LeftFiles, UnkeptChanges
from cellwright.sandbox.host.keep_terms import KeepProgress, KeepTerms, keep_changes, progress_lines
from cellwright.sandbox.host.project_writer import KeepStopped, ProjectWriter
from cellwright.sandbox.spec import Limits
from tests.leaping import leap
from tests.sandbox.conftest import USERS, WEAK_USERS, CageStarterFor, User

HOLDS_ON = """
import mmap, os, signal, time

os.makedirs('made')
for name in ('held.txt', 'made/held.txt'):
    with open(name, 'w') as file:
        file.write('as it was left')
    os.chmod(name, 0o1777)
    try:
        os.setxattr(name, 'user.mark', b'1')
    except OSError:
        pass
os.link('held.txt', 'second name.txt')


def hold_on():
    # An open descriptor, a shared mapping and another name, written through as fast as it goes.
    held = [os.open(name, os.O_RDWR) for name in ('held.txt', 'made/held.txt')]
    mapped = [mmap.mmap(descriptor, 14) for descriptor in held]
    named = os.open('second name.txt', os.O_RDWR)
    os.write(writing, b'h')
    while True:
        for descriptor in (*held, named):
            os.pwrite(descriptor, b'CHANGED', 0)
            os.pwrite(descriptor, b'as it was', 0)
        for one in mapped:
            one[:7] = b'CHANGED'
            one[:9] = b'as it was'


reading, writing = os.pipe()
for how in range(3):
    if os.fork() == 0:
        # As far from its parent as it can get: a session of its own, no signal heeded, an orphan.
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if how and os.fork():
            os._exit(0)
        hold_on()
for how in range(3):
    os.read(reading, 1)
print(os.stat('held.txt').st_nlink)
"""


def everything(project: Path) -> dict[str, tuple[object, ...]]:
    return {
        str(path.relative_to(project)): (status.st_mode, status.st_ctime_ns, status.st_ino, path.read_bytes())
        for path in sorted(project.rglob("*"))
        if stat.S_ISREG((status := path.lstat()).st_mode)
    }


@pytest.mark.parametrize("user", [*USERS, *WEAK_USERS])
async def test_a_descriptor_a_mapping_and_a_second_name_change_nothing_that_was_kept(
    starter_for: CageStarterFor, user: User
) -> None:
    starter = starter_for(user)
    async with starter.zygote.cage(starter.spec, HOLDS_ON) as cage:
        assert await cage.output() == "2\n"
        with anyio.fail_after(120):
            report = await cage.control.keep(starter.project)
        kept = everything(starter.project)
        assert report.refused == ()
        assert report.held_back is None
        # Nobody is left who could write: orphans come to the cage's first process, and it has none.
        assert psutil.Process(cage.pid).children() == []
    assert set(kept) == {"held.txt", "made/held.txt", "second name.txt"}
    assert everything(starter.project) == kept
    for path in kept:
        status = (starter.project / path).lstat()
        assert (status.st_nlink, stat.S_IMODE(status.st_mode)) == (1, 0o777)
        assert status.st_uid == starter.project.stat().st_uid
        assert [name for name in os.listxattr(starter.project / path) if name != "security.selinux"] == []


# ── on a person's terms ──


def left_in(folder: Path, names: list[str]) -> LeftFiles:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("new")
    return LeftFiles([os.open(folder, os.O_RDONLY)], is_in_memory=False)


def created(names: list[str]) -> list[FileChange]:
    return [FileChange(path=name, kind="created", bytes=3) for name in names]


SECONDS_TO_THE_NEXT_LINE = 2.0
MANY = [f"{number}.txt" for number in range(100)]


class Desk:
    """A project, what a notebook left for it, and somebody who keeps it."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "own.txt").write_text("a person's")
        self.left = left_in(folder / "left", MANY)
        self.seconds: float | None = None
        self.said: list[str] = []

    def keeper(self) -> ProjectWriter:
        return ProjectWriter(self.project, self.left, since_ns=0, seconds=self.seconds)

    async def keep(self, terms: KeepTerms) -> KeepReport:
        with anyio.fail_after(120):
            return await keep_changes(self.keeper, created(MANY), terms, KeepProgress())

    def is_as_it_was(self) -> bool:
        return [path.name for path in self.project.iterdir()] == ["own.txt"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_of_more_files_than_are_kept_unasked_none_is_kept_and_how_to_keep_them_is_said(desk: Desk) -> None:
    report = await desk.keep(KeepTerms(limits=Limits(kept_files=99)))
    assert report == KeepReport(
        kept=(),
        refused=(),
        held_back=UnkeptChanges(
            files=100,
            bytes=300,
            reason="100 changed files, 300 bytes: more than 99 files are kept only if you say so",
            hint=remedy("keep_changes", limit="kept_files=100"),
            option="kept_files=100",
        ),
    )
    assert desk.is_as_it_was()


def test_bytes_count_as_well() -> None:
    changes = [FileChange(path="big", kind="created", bytes=3 << 20)]
    assert KeepTerms(limits=Limits(kept_mb=3)).question(changes) is None
    question = KeepTerms(limits=Limits(kept_mb=2)).question(changes)
    assert question is not None
    assert question.reason == "1 changed file, 3.0 MB: more than 2.0 MB are kept only if you say so"
    assert question.option == "kept_size=4m"


@pytest.mark.parametrize("answer", [True, False])
async def test_a_person_who_is_asked_decides(desk: Desk, answer: bool) -> None:
    asked: list[UnkeptChanges] = []

    async def ask(question: UnkeptChanges) -> bool:
        asked.append(question)
        return answer

    report = await desk.keep(KeepTerms(limits=Limits(kept_files=10), ask=ask))
    assert [question.files for question in asked] == [100]
    assert len(report.kept) == (100 if answer else 0)
    assert desk.is_as_it_was() is not answer


async def test_when_time_is_up_nothing_is_kept(desk: Desk) -> None:
    desk.seconds = 0
    report = await desk.keep(KeepTerms())
    assert report.held_back is not None
    assert report.held_back.reason == "keeping them took longer than 0 s"
    assert report.held_back.option == "keep_time=600s"
    assert desk.is_as_it_was()


class Watched(ProjectWriter):
    """Tells when it is told to stop."""

    is_told = threading.Event()

    def stop(self, reason: str) -> None:
        super().stop(reason)
        self.is_told.set()


class Slow(LeftFiles):
    """A disk that hangs half way, until somebody stops."""

    def __init__(self, folder: Path, halfway: anyio.Event, is_told: threading.Event) -> None:
        super().__init__([os.open(folder, os.O_RDONLY)], is_in_memory=False)
        self._halfway, self._is_told, self._opened = halfway, is_told, 0

    def open(self, parents: Sequence[str], name: str) -> tuple[int, os.stat_result]:
        self._opened += 1
        if self._opened == len(MANY) // 2:
            anyio.from_thread.run_sync(self._halfway.set)
            assert self._is_told.wait(120)
        return super().open(parents, name)


async def test_whoever_interrupts_it_before_everything_is_copied_finds_the_project_as_it_was(
    desk: Desk, tmp_path: Path
) -> None:
    halfway = anyio.Event()
    slow = Slow(tmp_path / "left", halfway, Watched.is_told)
    keeper = Watched(desk.project, slow, since_ns=0)
    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            terms = KeepTerms(on_progress=desk.said.append)
            tasks.start_soon(keep_changes, lambda: keeper, created(MANY), terms, KeepProgress())
            await halfway.wait()
            tasks.cancel_scope.cancel()
    slow.close()
    assert desk.said == ["Stopped: none of the 100 changed files was kept, and the project is as it was."]
    assert desk.is_as_it_was()


async def test_whoever_interrupts_it_before_it_has_begun_waits_for_nothing_and_nothing_stays_open(desk: Desk) -> None:
    before = psutil.Process().num_fds()
    with anyio.CancelScope() as scope:

        def keeper() -> ProjectWriter:
            scope.cancel()
            return desk.keeper()

        await keep_changes(keeper, created(MANY), KeepTerms(on_progress=desk.said.append), KeepProgress())
    assert scope.cancelled_caught
    assert desk.said == ["Stopped: none of the 100 changed files was kept, and the project is as it was."]
    assert desk.is_as_it_was()
    assert psutil.Process().num_fds() == before


class Onlooker:
    """Somebody who waits before a screen: time leaps to the next line, which is what they see."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.seen: list[str] = []
        self.has_heard = anyio.Event()

    def hear(self, line: str) -> None:
        self.said.append(line)
        self.has_heard.set()

    async def look(self) -> None:
        self.has_heard = anyio.Event()
        leap(SECONDS_TO_THE_NEXT_LINE)
        with anyio.fail_after(120):
            await self.has_heard.wait()
        self.seen.append(self.said[-1])


class Stepwise(ProjectWriter):
    """Goes on with each step when somebody has looked."""

    look: Callable[[], Coroutine[Any, Any, None]]

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "step" and value != "copying":
            anyio.from_thread.run(self.look)


class Halfway(LeftFiles):
    """Half way, somebody looks."""

    def __init__(self, folder: Path, look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__([os.open(folder, os.O_RDONLY)], is_in_memory=False)
        self._look, self._opened = look, 0

    def open(self, parents: Sequence[str], name: str) -> tuple[int, os.stat_result]:
        self._opened += 1
        if self._opened == len(MANY) // 2:
            anyio.from_thread.run(self._look)
        return super().open(parents, name)


async def test_while_many_files_are_kept_every_step_is_told_and_nothing_while_a_person_types(
    desk: Desk, tmp_path: Path
) -> None:
    onlooker = Onlooker()
    left = Halfway(tmp_path / "left", onlooker.look)
    writer = Stepwise(desk.project, left, since_ns=0)
    writer.look = onlooker.look

    async def ask(question: UnkeptChanges) -> bool:
        before = list(onlooker.said)
        for _ in range(10):
            leap(SECONDS_TO_THE_NEXT_LINE)
            await anyio.lowlevel.checkpoint()
        assert onlooker.said == before
        return question.files == len(MANY)

    async with progress_lines(onlooker.hear) as progress:
        await anyio.lowlevel.checkpoint()
        await onlooker.look()
        terms = KeepTerms(limits=Limits(kept_files=10), ask=ask)
        report = await keep_changes(lambda: writer, created(MANY), terms, progress)
    left.close()
    assert onlooker.seen == [
        "Looking for the files the notebook changed …",
        "Keeping files: 49 of 100 copied …",
        "Keeping files: all 100 copied, waiting for the disk …",
        "Keeping files: putting 100 in their places …",
    ]
    assert sorted(report.kept) == sorted(MANY)


async def test_what_takes_no_second_is_kept_without_a_word() -> None:
    onlooker = Onlooker()
    async with progress_lines(onlooker.hear):
        await anyio.lowlevel.checkpoint()
    assert onlooker.said == []


async def test_a_project_that_is_gone_is_said_and_more_time_is_not_advised(desk: Desk) -> None:
    shutil.rmtree(desk.project)
    held_back = (await desk.keep(KeepTerms())).held_back
    assert held_back is not None
    assert (held_back.files, held_back.reason, held_back.option) == (100, "No such file or directory", "")
    assert not desk.project.exists()


def test_what_is_stopped_while_a_large_file_is_copied_leaves_nothing(desk: Desk, tmp_path: Path) -> None:
    with (tmp_path / "left" / "big").open("wb") as file:
        file.truncate(64 << 20)
    keeper = desk.keeper()
    keeper.stop("enough")
    with pytest.raises(KeepStopped, match="enough"):
        keeper.keep([FileChange(path="big", kind="created", bytes=64 << 20)])
    assert desk.is_as_it_was()


def test_files_of_one_project_stay_within_the_disk_limit(desk: Desk) -> None:
    keeper = ProjectWriter(desk.project, desk.left, since_ns=0, most_bytes=7)
    report = keeper.keep(created(MANY[:3]))
    assert report.kept == tuple(MANY[:2])
    assert report.refused == ((MANY[2], "all kept files together are over the disk limit"),)


def test_new_files_take_the_group_of_a_folder_that_hands_it_on(desk: Desk) -> None:
    shared = desk.project / "shared"
    shared.mkdir()
    group = next((group for group in os.getgroups() if group != os.getegid()), 54328 if os.geteuid() == 0 else None)
    if group is not None:
        os.chown(shared, -1, group)
    shared.chmod(0o2775)
    keeper = desk.keeper()
    keeper._is_root = False  # As anybody else: root gives new files to whom the project belongs.
    report = keeper.keep([FileChange(path="shared/made", kind="created", what="directory", bytes=0)])
    assert report.kept == ("shared/made",)
    assert (shared / "made").stat().st_gid == shared.stat().st_gid


CLOSES = """
import os
os.mkdir('closed')
open('closed/x', 'w').write('x')
os.chmod('closed/x', 0)
os.chmod('closed', 0)
"""


async def test_a_notebook_that_takes_its_own_rights_away_hides_nothing(starter_for: CageStarterFor) -> None:
    starter = starter_for("plain")
    async with starter.zygote.cage(starter.spec, CLOSES) as cage:
        await cage.output()
        report = await cage.control.keep(starter.project)
    assert report.kept == ("closed", "closed/x")
    assert stat.S_IMODE((starter.project / "closed" / "x").stat().st_mode) == 0
