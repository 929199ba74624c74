"""A profile of a file of a million rows, against ydata-profiling; and what a profile costs in a prompt."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import anyio.to_thread
import numpy as np
import pandas as pd

from bench.failure import BenchFailed
from bench.peer import start_peer
from bench.peer_packages import profile_peer_python
from bench.rows import Bar, Finding, Samples, compare, faster, no_more_than
from bench.stage import Stage
from cellwright.kernel.profiler import DataCage, profiler_command
from cellwright.profiles.profile import Profile, ProfileRequest, question_json, read_profile
from cellwright.profiles.profile_text import profile_text
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import DataMount

_ROWS = 1_000_000
_QUICK_ROWS = 100_000
_TOKENS = 2_500
_NAME = "sales.csv"


async def measure(stage: Stage) -> list[Finding]:
    """Ours: a cage, a fresh interpreter, the file read, the answer decoded. Peer: what is asked of a warm process.

    Ours looks at a sample, as it does for whoever asks for nothing special; and once more at every row.
    """
    size = _QUICK_ROWS if stage.is_quick else _ROWS
    path = await anyio.to_thread.run_sync(_write, stage.folder, size)
    python = await profile_peer_python()
    taken: dict[str, list[tuple[float, float]]] = {"sampled": [], "whole": [], "peer": []}
    bytes_of_prompt = 0
    for _ in range(stage.rounds(3, quick=1)):
        for name, rows in (("sampled", ProfileRequest(paths=()).most_rows), ("whole", _ROWS)):
            ms, profile = await _ours(stage, path, rows)
            taken[name].append((ms, await anyio.to_thread.run_sync(_peak_mb, path, rows)))
            bytes_of_prompt = len(profile_text(profile, tokens=_TOKENS).encode())
        # A process for each: the most memory it ever had is that of one profile.
        async with start_peer(python, "ydata_profile", stage.folder) as peer:
            answer = await peer.ask("profile", path=str(path))
            taken["peer"].append((float(answer["ms"]), float(answer["mb"])))
    return [
        *_rows(taken, "sampled", f"{size:,} rows", bars=(faster(5), no_more_than(0.3))),
        *_rows(taken, "whole", f"{size:,} rows, every one", bars=(faster(1), no_more_than(1))),
        _prompt(bytes_of_prompt, path),
    ]


def _rows(taken: dict[str, list[tuple[float, float]]], side: str, what: str, *, bars: tuple[Bar, Bar]) -> list[Finding]:
    ms, mb = (tuple(sample[index] for sample in taken[side]) for index in (0, 1))
    peer_ms, peer_mb = (tuple(sample[index] for sample in taken["peer"]) for index in (0, 1))
    peer = "ydata-profiling"
    return [
        compare(f"profile of {what}", ours=Samples(ms), peer=Samples(peer_ms), peer_name=peer, unit="ms",
                bar=bars[0]),
        compare(f"profile of {what}, memory", ours=Samples(mb), peer=Samples(peer_mb), peer_name=peer,
                unit="MB", bar=bars[1]),
    ]  # fmt: skip


def _prompt(size: int, path: Path) -> Finding:
    """Against the first lines that would be shown instead, as many as fit into the same tokens."""
    lines = min(path.stat().st_size, _TOKENS * 3)
    name, peer = "bytes of prompt per profiled file", "its first lines, as many as the tokens hold"
    sides = Samples((float(size),)), Samples((float(lines),))
    return compare(name, ours=sides[0], peer=sides[1], peer_name=peer, unit="bytes", bar=no_more_than(1))


async def _ours(stage: Stage, path: Path, rows: int) -> tuple[float, Profile]:
    began = time.perf_counter()
    cage = DataCage(zygote=await stage.pool.zygote(), tier=probe().tier)
    profile = await cage.profile([DataMount(source=str(path), target=_NAME)], _question(rows))
    ms = (time.perf_counter() - began) * 1e3
    if not profile.tables or len(profile.tables[0].columns) != 10:
        raise BenchFailed(f"our own profile failed: {profile}")
    return ms, profile


def _peak_mb(path: Path, rows: int) -> float:
    """The most memory the program ever has: the same program on the same file, outside of a cage to be measured.

    Read while it works: what the system tells of an ended process counts what its parent had when it was started.
    """
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = _started(theirs, path)
        ours.sendall(question_json(_question(rows)))
        ours.shutdown(socket.SHUT_WR)
        ours.settimeout(0.005)
        answer, peak, is_open = bytearray(), 0.0, True
        while is_open:
            peak = max(peak, _most_so_far_mb(process.pid))
            try:
                chunk = ours.recv(1 << 20)
                answer += chunk
                is_open = bool(chunk)
            except TimeoutError:
                continue
    process.wait()
    if not read_profile(bytes(answer)).tables:
        raise BenchFailed("our own profile outside of a cage failed")
    return peak


def _most_so_far_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _started(theirs: socket.socket, path: Path) -> subprocess.Popen[bytes]:
    # Descriptor 3 is where the program is spoken to; the shell puts the socket there.
    script = f'exec 3<&{theirs.fileno()} {theirs.fileno()}<&-; exec "$@"'
    command = ["bash", "-c", script, "profile", *profiler_command()]
    return subprocess.Popen(command, cwd=path.parent, pass_fds=(theirs.fileno(),), env={}, stdin=subprocess.DEVNULL)


def _question(rows: int) -> ProfileRequest:
    return ProfileRequest(paths=(_NAME,), most_rows=rows)


def _write(folder: Path, rows: int) -> Path:
    """Ten columns as an order book has them: ids, dates, labels, amounts, gaps, words."""
    chance = np.random.default_rng(7)
    amounts = chance.lognormal(3, 1, rows).round(2)
    frame = pd.DataFrame(
        {
            "order_id": np.arange(1, rows + 1),
            "day": np.datetime_as_string(np.datetime64("2021-01-01") + chance.integers(0, 1_400, rows).astype("m8[D]")),
            "region": chance.choice(["North", "South", "East", "West"], rows),
            "customer": chance.integers(10_000, 60_000, rows),
            "amount_eur": np.where(chance.random(rows) < 0.02, np.nan, amounts),
            "quantity": chance.poisson(3, rows),
            "discount": chance.beta(2, 8, rows).round(3),
            "weight_kg": chance.normal(12, 3, rows).round(2),
            "is_returned": chance.random(rows) < 0.05,
            "note": chance.choice(["", "late", "gift, wrapped", "call before delivery", "damaged box"], rows),
        }
    )
    path = folder / _NAME
    frame.to_csv(path, index=False)
    return path
