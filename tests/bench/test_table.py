"""What a person sees of the findings."""

from __future__ import annotations

from inline_snapshot import snapshot

from bench.rows import Samples, compare, faster, no_more_than, told
from bench.table import table


def test_the_table_shows_medians_minima_and_which_bars_do_not_hold() -> None:
    findings = [
        compare(
            "round trip", ours=Samples((1.0, 2.0)), peer=Samples((60.0,)), peer_name="a", unit="ms", bar=faster(25)
        ),
        compare("memory", ours=Samples((9.0,)), peer=Samples((3.0,)), peer_name="b", unit="MB", bar=no_more_than(1)),
        compare("call", ours=Samples((2.0,)), peer=Samples((1.0,)), peer_name="c", unit="ms", bar=told("at most")),
    ]
    assert "\n" + table(findings) == snapshot("""\

what        against  ours (min)  peer (min)  ratio  bar
round trip  a        1.5 ms (1)  60 ms (60)  40×    ≥ 25×  holds
memory      b        9 MB (9)    3 MB (3)    3×     ≤ 1×   DOES NOT HOLD
call        c        2 ms (2)    1 ms (1)    2×     told\
""")
