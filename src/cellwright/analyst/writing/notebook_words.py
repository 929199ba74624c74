"""Sentences that the notebook makes from its own numbers. Their source stands in it, so it runs without Cellwright.

They read the table of tests as it is at that moment: switch a repair, and the sentence changes or takes itself back.
All are plain text; whoever shows one as markdown escapes it.
"""

from __future__ import annotations

from typing import Any


def chart_headline(row: Any, otherwise: str) -> Any:
    """A chart's title: what the test says while it holds, else only what is shown. In lines that fit."""
    import textwrap

    words = str(row["says"]) if row and row["is_finding"] else otherwise
    return textwrap.wrap(words[:1].upper() + words[1:], 70)[:3]


def with_labels(row: Any, labels: dict[str, str]) -> Any:
    """The row of a test, or None, with columns called and large numbers written as a reader would."""
    import re

    if row is None:
        return row
    says = re.sub(r"(?<![\w.])\d\.?\d*e\+\d+", lambda found: f"{float(found[0]):,.0f}", str(row["says"]))
    names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(labels, key=len, reverse=True))
    return {**row, "says": re.sub(names, lambda found: labels[found[0]], says) if labels else says}


def told_in_brief(row: Any, otherwise: str) -> str:
    """One sentence for the answer: what was found, or that nothing could be told from chance, with its test."""
    if row is None:
        return f"{otherwise}: not tested, because the data as it stands does not allow it."
    p = row["p_adjusted"]
    sure = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    proof = f"({row['test']}, n = {row['n']:,}, corrected {sure})"
    if row["is_finding"]:
        words = str(row["says"]).rstrip(".")
        return f"{words[:1].upper()}{words[1:]} {proof}."
    if p <= 0.05:
        return f"{otherwise}: there is a pattern, but too weak to matter {proof}."
    return f"{otherwise}: nothing that could be told from chance {proof}."


def could_be_seen(row: Any) -> str:
    """How large an effect may hide behind a test that found nothing: what its interval does not rule out."""
    if row is None or row["is_finding"] or row["high"] != row["high"]:
        return ""
    reach = max(abs(row["low"]), abs(row["high"]))
    scale = "" if "deviation" in row["effect_name"] else "; 0 is none, 1 the largest there is"
    return (
        f"With n = {row['n']:,}, the data speaks against an effect beyond {reach:.2g} ({row['effect_name']}{scale}). "
        "A smaller one may be there and was not seen."
    )


def repairs_in_use(repairs: dict[str, Any]) -> str:
    """Which repairs are on and off at this moment, and how much each touches: from each table's log and switches."""
    on, off = list[str](), list[str]()
    for table, (log, switches) in repairs.items():
        touches = dict(zip(log["repair"], log["touches"], strict=True))
        for repair, is_on in switches.items():
            (on if is_on else off).append(f"{repair} in {table} ({touches.get(repair, 0):,})")
    if not on and not off:
        return "No repair of the data was needed."
    told = [f"Repairs that are on: {', '.join(on[:6])}{' and more' if on[6:] else ''}." if on else "No repair is on."]
    told += [f"Off, for you to decide: {', '.join(off[:4])}{' and more' if off[4:] else ''}."] if off else []
    return " ".join(told)


# ── changes, and what they come from ──


def telling_order(parts: dict[str, Any]) -> Any:
    """Columns by how much more of a change one of their labels makes up than its size would lead one to expect."""

    def surprise(table: Any) -> float:
        whole, before = table["change"].sum(), table["first"].abs().sum()
        if len(table) < 2 or len(table) > 30 or not whole or not before:
            return -1.0
        return float((table["change"] / whole - table["first"].abs() / before).max())

    order, told = sorted(parts, key=lambda name: -surprise(parts[name])), list[str]()
    alike = {name: tuple(sorted(parts[name]["change"].round(6))) for name in order}
    # Columns that say the same, such as a code and its name, are told once.
    for name in order:
        told += [name] if alike[name] not in [alike[other] for other in told] else []
    return told


def in_figures(value: float) -> str:
    """A number as people write it: no more digits than anybody reads."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"


def largest_shares(table: Any) -> str:
    """The parts that make up most of a change: those that go its way, up to three, until four fifths are told."""
    told, sum_told = list[str](), 0.0
    for label, share in zip(table.iloc[:3, 0], table["share"][:3], strict=True):
        if share <= 0 or sum_told >= 0.8:
            break
        told.append(f"{label} ({share:.0%} of it)")
        sum_told += share
    return " and ".join(filter(None, [", ".join(told[:-1]), *told[-1:]]))


def why_it_changed(row: Any, parts: dict[str, Any], what: str) -> str:
    """By how much it changed and what that comes from; where it may be chance, only by how much, and that it may."""
    order = telling_order(parts)
    table = parts[order[0]]
    first, second, whole = table["first"].sum(), table["second"].sum(), table["change"].sum()
    if row is None or not whole:
        return ""
    percent = f" ({whole / abs(first):+.1%})" if first else ""
    moved = f"The {what} {'rose' if whole > 0 else 'fell'} from {in_figures(first)} to {in_figures(second)}{percent}"
    if not row["is_finding"]:
        return f"{moved}, which may well be chance: see the test."
    ways = [f"by {name}, from {shares}" for name in order[:2] if (shares := largest_shares(parts[name]))]
    return f"{moved}. It comes, {'; '.join(ways)}." if ways else f"{moved}."


def largest_parts(table: Any, most: int = 12) -> Any:
    """The largest parts of a change for a chart, the rest put together as one."""
    parts = table.rename(columns={table.columns[0]: "label"})
    if len(parts) > most:
        rest = parts.iloc[most:].drop(columns="label").sum()
        parts = parts.iloc[:most].copy()
        parts.loc[len(parts)] = {"label": "(all others)", **rest}
    return parts.sort_values("change", kind="stable")
