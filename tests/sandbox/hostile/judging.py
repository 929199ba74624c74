"""How it is told that an attack succeeded: by its own word, by its traces on the host, or by what it took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .sighting import Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class CageLimits:
    """What the cage is told to allow while the attack runs."""

    memory_mb: int = 512
    processes: int = 100
    """Threads count too."""
    disk_mb: int = 64
    """The project's overlay, and the private /tmp."""
    inodes: int = 2000
    kept_files: int = 10_000
    open_files: int = 256
    cpu_seconds: int = 20
    wall_seconds: int = 30
    console_bytes: int = 1 << 20
    output_mb: int = 16
    """What may reach the host for one call; as wide text it takes four times that there."""


Judge = Callable[[Sighting, CageLimits], str]
"""How the attack succeeded; empty when it did not."""


def by_word_or_trace(seen: Sighting, _: CageLimits) -> str:
    """It says so, or the host shows it."""
    said = seen.verdict.detail if seen.verdict and seen.verdict.leak else ""
    return said or "; ".join(seen.traces)


def by_trace(seen: Sighting, _: CageLimits) -> str:
    """Only the host's word counts: the program may have written to a private copy and believe it succeeded."""
    return "; ".join(seen.traces)


def by_processes(seen: Sighting, limits: CageLimits) -> str:
    """Its own count, or ours."""
    if seen.peak_processes > limits.processes * 1.25 + seen.others:
        return f"{seen.peak_processes} processes at once"
    return by_word_or_trace(seen, limits)


def by_memory(seen: Sighting, limits: CageLimits) -> str:
    """Its own count, or ours."""
    if seen.peak_memory_mb > limits.memory_mb * 1.25:
        return f"{seen.peak_memory_mb} MB at once"
    return by_word_or_trace(seen, limits)


def by_metered_memory(seen: Sighting, limits: CageLimits) -> str:
    """Where no control group counts, the sum is looked at some times a second: a burst may pass, staying may not."""
    if seen.peak_memory_mb > limits.memory_mb * 1.75:
        return f"{seen.peak_memory_mb} MB at once"
    return by_word_or_trace(seen, limits)


def by_console(seen: Sighting, limits: CageLimits) -> str:
    """How much reached the host; framing and the last cut chunk are allowed for."""
    if seen.console_bytes > 2 * limits.console_bytes:
        return f"{seen.console_bytes} bytes reached the host"
    return by_host(seen, limits)


def by_going_on(seen: Sighting, _: CageLimits) -> str:
    """It ran until the test itself ended it."""
    return "it had to be ended from outside" if seen.ended == "outlived" else ""


def by_survivors(seen: Sighting, _: CageLimits) -> str:
    """Somebody of it is still there after the kill."""
    return f"{seen.survivors} processes left after the kill" if seen.survivors else ""


def by_kept_size(seen: Sighting, limits: CageLimits) -> str:
    """More landed in the project than a notebook may write."""
    return f"{seen.project_mb} MB landed" if seen.project_mb > limits.disk_mb * 1.25 else ""


def by_host(seen: Sighting, limits: CageLimits) -> str:
    """The process on the other end of the socket fell, grew without bound, or ran what it was sent."""
    if seen.host_fell:
        return f"the host fell: {seen.host_fell}"
    if seen.host_growth_mb > 64 + 4 * limits.output_mb:
        return f"the host grew by {seen.host_growth_mb} MB"
    return "; ".join(seen.traces)
