"""A log as JSON lines: some latencies are in seconds, and say so."""

from __future__ import annotations

import json
import random
from pathlib import Path

from eval.delivered import Delivered, said


def make(folder: Path) -> None:
    chance = random.Random(43)
    lines: list[str] = []
    for number in range(500):
        request: dict[str, object] = {"id": number, "status": chance.choices([200, 404, 500], weights=[8, 1, 1])[0]}
        milliseconds = round(chance.lognormvariate(4.5, 0.5))
        if chance.random() < 0.2:
            request["latency"] = {"value": milliseconds / 1000, "unit": "s"}
        else:
            request["latency"] = {"value": milliseconds, "unit": "ms"}
        lines.append(json.dumps(request))
    (folder / "requests.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _latencies(folder: Path, *, is_careful: bool = True) -> list[float]:
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        one["latency"]["value"] * (1000 if is_careful and one["latency"]["unit"] == "s" else 1)
        for one in requests
        if one["status"] == 200
    ]


def _mean(folder: Path) -> float:
    values = _latencies(folder)
    return sum(values) / len(values)


def right(folder: Path) -> Delivered:
    return said(f"{_mean(folder):.1f} ms.")


def wrong(folder: Path) -> Delivered:
    values = _latencies(folder, is_careful=False)
    return said(f"{sum(values) / len(values):.1f} ms.")
