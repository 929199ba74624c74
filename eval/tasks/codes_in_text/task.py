"""Notes of a workshop with part codes in them, and telephone numbers that look like some."""

from __future__ import annotations

import random
import re
from pathlib import Path

from eval.delivered import Delivered, said


def make(folder: Path) -> None:
    chance = random.Random(34)
    codes = [f"{chance.choice('ABKX')}{chance.choice('CDR')}-{chance.randrange(1000, 9999)}" for _ in range(45)]
    lines = []
    for _ in range(160):
        code = chance.choice(codes)
        lines.append(
            chance.choice(
                [
                    f"changed {code.lower()}, runs again",
                    f"{code} ordered",
                    f"call 0{chance.randrange(10)}-{chance.randrange(1000, 9999)} about it",
                    f"old serial {code}77 kept",
                ]
            )
        )
    (folder / "notes.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _codes(folder: Path) -> int:
    return len(
        {
            code.upper()
            for code in re.findall(r"\b[A-Za-z]{2}-\d{4}\b", (folder / "notes.txt").read_text(encoding="utf-8"))
        }
    )


def right(folder: Path) -> Delivered:
    return said(f"{_codes(folder)} different codes.")


def wrong(folder: Path) -> Delivered:
    text = (folder / "notes.txt").read_text(encoding="utf-8")
    return said(f"{len(set(re.findall('[A-Za-z]{2}-[0-9]{4}', text)))} different codes.")
