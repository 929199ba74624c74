"""The record of calls on the disk: kill -9 and power failures lose nothing told, and the file is nobody else's."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from cellwright.errors import Unavailable, UserError
from cellwright.models.calls import Cancelled, ModelAnswer
from cellwright.models.config.names import CallId
from cellwright.models.gateway.call_executor import AnswerSync
from cellwright.models.money.call_records import SentCall
from cellwright.models.money.ledger import Ledger
from tests.house.places import ROOT
from tests.models.accounts import ANN, answer, at_most, call, cancelled, opened, send, send_and_answer

# ── cut off ──

ENDINGS = {"answered": ModelAnswer, "cancelled": Cancelled}


@pytest.mark.slow
def test_processes_killed_anywhere_leave_a_file_that_tells_the_truth(tmp_path: Path) -> None:
    counts = (1, 2, 3, 4, 5, 9, 40, 41, 42, 120)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.models.ledger_writer", str(tmp_path), *map(str, counts)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=120,
    )
    stories = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(stories) == len(counts)
    for count, told in zip(counts, stories, strict=True):
        assert len(told) >= count
        with opened(tmp_path / str(count)) as ledger:
            _check_truth(ledger, [tuple(line.split()) for line in told])


def _check_truth(ledger: Ledger, told: list[tuple[str, ...]]) -> None:
    """Everything told is there; at most the one step that was under way when it was killed is there as well."""
    lost = {sent.id for sent in ledger.adopt()}
    sent = [name for what, name in told if what == "sent"]
    ended = {name: what for what, name in told if what in ("answered", "cancelled")}
    for number, name in enumerate(sent):
        begun = ledger.begin(call(name, text=f"Question {number}?"))
        is_last = number == len(sent) - 1
        if name in ended:
            assert isinstance(begun, ENDINGS[ended[name]])
        else:
            assert is_last
            assert isinstance(begun, ModelAnswer | Cancelled) or (isinstance(begun, SentCall) and name in lost)
    after = ledger.begin(call(f"call-{len(sent)}", text=f"Question {len(sent)}?"))
    assert after is None or isinstance(after, SentCall)
    rows = {row.what: row for row in ledger.usage()}
    attempted = sum(what == "attempted" for what, _ in told)
    paid_attempts = rows["anthropic:claude-sonnet-4-5"].calls if "anthropic:claude-sonnet-4-5" in rows else 0
    assert paid_attempts in (attempted, attempted + 1)
    assert rows["openai:gpt-5"].unknown_calls == len(lost) <= 2


def test_a_record_cut_off_by_a_power_failure_opens_at_an_earlier_truth(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    ledger = opened(whole)
    for number in range(20):
        send_and_answer(ledger, call(f"call-{number}"), answer("long " * 500))
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    ledger.close()
    log = (copy / "models.db-wal").read_bytes()
    known = list[int]()
    for cut in range(0, len(log) + 1, len(log) // 23):
        (copy / "models.db-wal").write_bytes(log[:cut] + b"\xff" * 700)
        torn = tmp_path / f"torn-{cut}"
        shutil.copytree(copy, torn)
        with opened(torn) as ledger:
            lost = ledger.adopt()
            begun = [ledger.begin(call(f"call-{number}")) for number in range(20)]
            kept = [isinstance(one, ModelAnswer) for one in begun]
            assert kept == sorted(kept, reverse=True)
            assert len(lost) <= 1
            assert sum(isinstance(one, SentCall) for one in begun) == len(lost)
            assert sum(row.calls for row in ledger.usage()) == sum(kept) + len(lost)
            known.append(sum(kept))
    assert known == sorted(known)
    assert known[0] == 0
    assert known[-1] >= 19


# ── the file ──


def test_the_file_is_private(tmp_path: Path) -> None:
    loose = tmp_path / "home" / "models.db"
    loose.parent.mkdir()
    loose.touch(mode=0o666)
    loose.chmod(0o666)
    with opened(loose.parent) as ledger:
        send(ledger, call())
        assert {file.stat().st_mode & 0o777 for file in loose.parent.iterdir()} == {0o600}


@pytest.mark.slow
def test_what_a_method_wrote_is_on_the_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sync keeps a copy of the files: what a power cut would leave. It is opened in their place."""
    disk, home, really_sync = tmp_path / "disk", tmp_path / "home", os.fdatasync

    def sync(descriptor: int) -> None:
        really_sync(descriptor)
        shutil.rmtree(disk, ignore_errors=True)
        shutil.copytree(home, disk)

    def after_a_power_cut(name: str) -> str:
        with opened(disk) as ledger:
            begun = ledger.begin(call(name))
            return type(begun).__name__

    monkeypatch.setattr(os, "fdatasync", sync)
    with opened(home) as ledger:
        for number in range(60):
            name, long = f"call-{number}", answer("long " * 4_000)
            send(ledger, call(name))
            assert after_a_power_cut(name) == "SentCall"
            if number % 2:
                ledger.answered(CallId(name), long)
                assert after_a_power_cut(name) == "ModelAnswer"
            else:
                ledger.cancelled(CallId(name), cancelled())
                assert after_a_power_cut(name) == "Cancelled"


async def test_answers_that_were_told_reach_the_disk_soon_and_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs, really_sync = list[int](), os.fdatasync

    def sync(descriptor: int) -> None:
        syncs.append(descriptor)
        really_sync(descriptor)

    with opened(tmp_path) as ledger:
        for name in ("one", "two", "three"):
            ledger.begin(call(name))
            ledger.sent(CallId(name), "openai:gpt-5")
        monkeypatch.setattr(os, "fdatasync", sync)
        async with anyio.create_task_group() as tasks:
            soon = AnswerSync(ledger, tasks)
            for name in ("one", "two"):
                ledger.answered(CallId(name), answer(), is_synced=False)
                soon.soon()
            assert not ledger.is_synced
        assert ledger.is_synced
        assert len(syncs) == 1

        async with anyio.create_task_group() as tasks:
            AnswerSync(ledger, tasks).soon()
            # Whatever else waits for the disk takes it along.
            ledger.answered(CallId("three"), answer())
        assert len(syncs) == 2


def test_commits_that_wait_together_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs, may_sync, really_sync = list[int](), threading.Event(), os.fdatasync

    def sync(descriptor: int) -> None:
        syncs.append(descriptor)
        assert may_sync.wait(30)
        really_sync(descriptor)

    with opened(tmp_path) as ledger:
        for number in range(10):
            ledger.begin(call(f"call-{number}"))
        monkeypatch.setattr(os, "fdatasync", sync)
        threads = [
            threading.Thread(target=ledger.sent, args=(CallId(f"call-{number}"), "openai:gpt-5"))
            for number in range(10)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 30
        while ledger._file.row("SELECT count(*) FROM call") != (10,):
            assert time.monotonic() < deadline
        # Nobody is told yet, and nobody who reads has to wait.
        assert all(thread.is_alive() for thread in threads)
        may_sync.set()
        for thread in threads:
            thread.join(30)
        assert len(syncs) == 2


def test_a_disk_that_cannot_keep_it_raises_so_that_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with opened(tmp_path) as ledger:
        ledger.begin(call())
        monkeypatch.setattr(os, "fdatasync", fail)
        with pytest.raises(Unavailable, match="cannot be kept"):
            ledger.sent(CallId("one"), "openai:gpt-5")


def test_a_ledger_is_open_in_one_place_only(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(Unavailable, match="cannot be opened") as refused:
        opened(tmp_path)
    assert "Another gateway" in refused.value.hint
    opened(tmp_path).close()


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "models.db").write_bytes(b"This is a letter, not a database. " * 40)
    before = (tmp_path / "models.db").read_bytes()
    with pytest.raises(UserError, match="not a record of model calls"):
        opened(tmp_path)
    assert (tmp_path / "models.db").read_bytes() == before


def test_a_newer_ledger_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with sqlite3.connect(tmp_path / "models.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserError, match="newer Cellwright"):
        opened(tmp_path)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "models.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable, match="cannot be made"):
        opened(tmp_path)


def test_what_cannot_be_recorded_raises_so_that_nothing_is_sent(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        pages = ledger._file.row("PRAGMA page_count")
        assert pages is not None
        ledger._file.row(f"PRAGMA max_page_count = {pages[0]}")
        with pytest.raises(Unavailable, match="full") as full:
            for number in range(100):
                send_and_answer(ledger, call(f"call-{number}"), answer("long " * 5_000))
        assert "recorded first" in full.value.hint
        ledger._file.row("PRAGMA max_page_count = 1000000")
        send_and_answer(ledger, call("after"))
        assert isinstance(ledger.begin(call("after")), ModelAnswer)


def test_many_threads_may_use_one_ledger(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:

        def work(worker: int) -> None:
            for number in range(25):
                send_and_answer(ledger, call(f"{worker}/{number}"))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=300)
        assert [(row.calls, row.paid) for row in ledger.usage()] == [(100, {"USD": Decimal("25.00")})]
        assert list(ledger.policy_ledger(ANN, [at_most("1")]).totals.values()) == [Decimal("25.00")]
