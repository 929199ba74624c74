"""Which of 900 tables a question needs: how often all are found, how long it takes, and what the prompt costs."""

from __future__ import annotations

import re
import time
from typing import Final

from bench.rows import Finding, Samples, compare, no_more_than
from bench.shop_catalogue import QUESTIONS, large_catalogue
from bench.stage import Stage
from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.catalogue_text import catalogue_text
from cellwright.data.table_choice import TableIndex
from cellwright.notebook.prompt_summary import estimate_tokens

_MOST: Final = 40
_ROUNDS: Final = 10
_ALLOWED_MS: Final = 5.0


async def measure(stage: Stage) -> list[Finding]:
    """Fifty questions that were written before any choice was tried. No model is asked."""
    catalogue = large_catalogue()
    with TableIndex(catalogue) as index:
        ours = {question: _names(index.choose(question, most=_MOST).tables) for question, _ in QUESTIONS}
        times = _times(index, 2 if stage.is_quick else _ROUNDS)
        tokens = [
            estimate_tokens(catalogue_text(catalogue, question, connection="shop", index=index))
            for question, _ in QUESTIONS
        ]
    naive = {question: naive_choice(catalogue, question) for question, _ in QUESTIONS}
    whole = "\n".join(f"{table.qualified}({', '.join(c.name for c in table.columns)})" for table in catalogue.tables)
    return [
        compare(
            f"questions of {len(QUESTIONS)} that lack a table, {_MOST} of {len(catalogue.tables)} chosen",
            ours=Samples((float(_missing(ours)),)),
            peer=Samples((float(_missing(naive)),)),
            peer_name="words of the question as parts of names",
            unit="questions",
            bar=no_more_than(0.5),
        ),
        compare(
            f"choosing {_MOST} of {len(catalogue.tables)} tables, CPU",
            ours=Samples(tuple(times)),
            peer=Samples((_ALLOWED_MS,)),
            peer_name="what we allow ourselves",
            unit="ms",
            bar=no_more_than(1),
        ),
        compare(
            f"the catalogue in a prompt, {len(catalogue.tables)} tables",
            ours=Samples(tuple(map(float, tokens))),
            peer=Samples((float(estimate_tokens(whole)),)),
            peer_name="all tables by name and columns",
            unit="tokens",
            bar=no_more_than(0.1),
        ),
    ]


def naive_choice(catalogue: Catalogue, question: str) -> set[str]:
    """What one writes first: how many of the question's words are part of a name; a table's own counts double."""
    words = {word.rstrip("s") for word in re.findall(r"[a-z]{3,}", question.lower())}
    scores = [
        (
            -sum(2 * (word in table.name) + any(word in column.name for column in table.columns) for word in words),
            at,
        )
        for at, table in enumerate(catalogue.tables)
    ]
    return {catalogue.tables[at].qualified for _, at in sorted(scores)[:_MOST]}


def _times(index: TableIndex, rounds: int) -> list[float]:
    times: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        for question, _ in QUESTIONS:
            index.choose(question, most=_MOST)
        times.append((time.process_time() - began) * 1000 / len(QUESTIONS))
    return times


def _names(tables: tuple[CatalogueTable, ...]) -> set[str]:
    return {table.qualified for table in tables}


def _missing(chosen: dict[str, set[str]]) -> int:
    return sum(not {f"public.{name}" for name in needed.split()} <= chosen[question] for question, needed in QUESTIONS)
