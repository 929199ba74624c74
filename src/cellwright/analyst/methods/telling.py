"""Tests told in words: the row of a test, and the sentence that may stand in a notebook for it."""

from __future__ import annotations

import pandas as pd


def claim(tests: pd.DataFrame, table: str, y: str, x: str, kind: str = "") -> dict[str, object] | None:
    """The row of one test; None if it was not made. Without a kind: that with the smallest p."""
    names = tests["y"].eq(y) & tests["x"].eq(x) | tests["y"].eq(x) & tests["x"].eq(y)
    rows = tests[tests["table"].eq(table) & names & (tests["kind"].eq(kind) | (kind == ""))]
    if rows.empty:
        return None
    return {str(name): value for name, value in rows.sort_values("p", kind="stable").iloc[0].items()}


def escaped(text: str, longest: int = 400) -> str:
    """Text from a file that stays text in markdown: nothing becomes a link, a heading or HTML."""
    plain = " ".join(text.split())
    plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
    return "".join(sign if sign.isalnum() or sign in " ,.%()…" else f"&#{ord(sign)};" for sign in plain)


def say(row: dict[str, object] | None) -> str:
    """A test as a sentence in markdown: what it says, how sure that is, and how strong."""
    if row is None:
        return "*This cannot be tested with the data and the repairs chosen now.*"
    p, n = float(row["p_adjusted"]), int(row["n"])
    sure = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
    numbers = (
        f"{escaped(str(row['test']))}, n = {n:,}, {sure} corrected for all tests; "
        f"{escaped(str(row['effect_name']))} {float(row['effect']):.2f}, "
        f"95 % interval {float(row['low']):.2f} to {float(row['high']):.2f}; {escaped(str(row['checked']))}"
    )
    if row["is_finding"]:
        words = str(row["says"]).strip().rstrip(".")
        return f"**{escaped(words[:1].upper() + words[1:])}.** ({numbers})"
    pair = f"{escaped(str(row['y']), 100)} and {escaped(str(row['x']), 100)}"
    why = "it may well be chance" if p > 0.05 else "it is too weak to mention"
    return f"*No {escaped(str(row['kind']))} found for {pair} with the data and repairs chosen now: {why}.* ({numbers})"
