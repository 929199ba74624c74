"""What was typed beside the goal: a file without `--data`, words without quotes. Says the line that was meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from cellwright.errors import UserError

_FILE_NAME = re.compile(r"\S*(/\S*|\.\w{1,8})")
"""A path of one word: with a slash in it, or an ending."""


class GoalCommand(TyperCommand):
    """A command that takes one goal. Whatever is typed beside it ends in the command line to type instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises `UserError` if there is more than a goal."""
        ctx.allow_extra_args = True
        extra = super().parse_args(ctx, args)
        if extra and not ctx.resilient_parsing:
            raise _refusal([ctx.params["goal"], *extra], list(_typed_options(self.params, ctx)))
        return extra


def _refusal(typed: Sequence[str], options: Sequence[str]) -> UserError:
    files = [each for each in typed if _is_data(each)]
    # Where nothing reads like words, the first is the goal, as it was taken.
    words = [each for each in typed if each not in files] or [typed[0]]
    data = [each for each in files if each not in words]
    rules = (("A goal of several words stands in quotes", len(words) > 1), ("a file goes with --data", bool(data)))
    says = ", ".join(rule for rule, is_broken in rules if is_broken)
    line = shlex.join(["cellwright", "run", " ".join(words), *(part for each in data for part in ("--data", each))])
    return UserError(
        f"`cellwright run` takes one goal, and was given {len(typed)} arguments: {shlex.join(typed)}.",
        hint=f"{says[:1].upper()}{says[1:]}: `{' '.join([line, *options])}`",
    )


def _is_data(typed: str) -> bool:
    path = typed.partition("=")[2] or typed
    return Path(path).exists() or _FILE_NAME.fullmatch(path) is not None


def _typed_options(known: Iterable[Any], ctx: Any) -> Iterator[str]:
    """The options that were given, as they are typed."""
    for each in known:
        source, value = ctx.get_parameter_source(each.name), ctx.params.get(each.name)
        if each.param_type_name != "option" or source is None or source.name != "COMMANDLINE":
            continue
        if each.is_flag:
            yield each.opts[0]
        else:
            values = value if each.multiple else [value]
            yield from (shlex.join([each.opts[0], str(one)]) for one in values)
