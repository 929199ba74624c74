"""What doctor says about a machine's pages and about Windows beneath it, from values alone."""

from __future__ import annotations

import pytest

from cellwright.app.doctor import DoctorCheck, memory_pages, windows_beneath
from cellwright.remedies import sentence_of
from cellwright.sandbox.linux.huge_pages import can_gather

LATER = "Kernels and branches start a few milliseconds later; nothing else changes."
MIB = 1 << 20


@pytest.mark.parametrize(
    ("page_kib", "huge", "is_usable", "detail"),
    [
        (4, 2 * MIB, True, "4 KiB, huge pages of 2 MiB"),
        (16, 32 * MIB, True, "16 KiB, huge pages of 32 MiB"),
        (64, 512 * MIB, False, "64 KiB, huge pages of 512 MiB, which are not used"),
        (4, None, False, "4 KiB, no huge pages"),
    ],
)
def test_pages_are_told_with_what_follows(page_kib: int, huge: int | None, is_usable: bool, detail: str) -> None:
    told = memory_pages(page_kib * 1024, huge, is_usable=is_usable)
    assert told == DoctorCheck(
        name="memory pages", is_ok=is_usable, detail=detail, consequence="" if is_usable else LATER
    )


def test_huge_pages_that_would_fill_untouched_memory_are_not_used() -> None:
    assert [can_gather(None), can_gather(512 * MIB)] == [False, False]
    assert can_gather(32 * MIB) == can_gather(2 * MIB)


def test_only_wsl_is_told() -> None:
    assert windows_beneath("6.12.90+deb13-amd64", has_landlock=False) == []


def test_wsl2_is_told_with_landlock_or_how_to_get_it() -> None:
    release = "6.6.87.2-microsoft-standard-WSL2"
    [good] = windows_beneath(release, has_landlock=True)
    assert good == DoctorCheck(name="WSL", is_ok=True, detail=f"WSL2, kernel {release} with Landlock")
    [bad] = windows_beneath(release, has_landlock=False)
    assert (bad.is_ok, bad.detail) == (False, f"WSL2, kernel {release} without Landlock")
    assert "`wsl --update`" in sentence_of(bad.consequence)


def test_wsl_1_is_told_to_become_wsl2() -> None:
    [fact] = windows_beneath("4.4.0-19041-Microsoft", has_landlock=False)
    assert (fact.is_ok, fact.detail) == (False, "WSL 1 (4.4.0-19041-Microsoft) is no Linux kernel")
    assert "--set-version" in sentence_of(fact.consequence)
