"""`python -m eval.review [NAME …] [--half seen|held-out|all] [--json] [--write DIR]`: each task's notebooks, reviewed.

By code alone. Caught: a finding whose code fails in the wrong notebook. False alarm: such a one in its right twin.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from eval.review.pairs import Half, drawn_for_reviewer, paired_tasks
from eval.review.reviewing import PairReview, review_pairs, table, write_pairs


def main(words: Sequence[str] | None = None) -> int:
    """Review what was asked for."""
    arguments = _arguments(words)
    half: Half = arguments.half
    try:
        tasks = drawn_for_reviewer() if arguments.drawn else paired_tasks(half, arguments.names)
    except ValueError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 2
    if arguments.write is not None:
        write_pairs(tasks, arguments.write)
        return 0
    reviews: list[PairReview] = anyio.run(review_pairs, tasks)
    if arguments.json:
        sys.stdout.write(json.dumps([review.as_json() for review in reviews], indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(reviews, has_details=not arguments.counts))
    return 0 if not any(review.problem for review in reviews) else 1


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m eval.review", description="Review right and wrong notebooks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="tasks; all of the half where none is named")
    parser.add_argument("--half", choices=["seen", "held-out", "all"], default="all", help="which half of the tasks")
    parser.add_argument("--json", action="store_true", help="everything that was found")
    parser.add_argument("--counts", action="store_true", help="caught and accused only, not what was found")
    parser.add_argument("--drawn", action="store_true", help="the 20 pairs drawn for a reviewer from the held-out half")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the notebooks with their data, review nothing")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main())
