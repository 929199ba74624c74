"""`--python`: on which interpreter a notebook runs. Light: `cellwright run` loads no kernel to read it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cellwright.errors import UserError

PythonOption = Annotated[
    str,
    typer.Option(
        "--python",
        metavar="header|ours",
        help="header: an installed Python that the notebook's header allows. ours: Cellwright's own, whatever it says.",
    ),
]


def python_choice(word: str) -> Literal["header", "ours"]:
    """What was typed. Raises `UserError`."""
    choices: dict[str, Literal["header", "ours"]] = {"header": "header", "ours": "ours"}
    if word not in choices:
        raise UserError(
            f"Unknown --python {word!r}.",
            hint="header or ours. On which versions a notebook runs is said by `requires-python` in its header.",
        )
    return choices[word]
