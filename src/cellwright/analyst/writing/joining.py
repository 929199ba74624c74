"""Two tables as one: every row of the left one, with what the right one knows of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.names import JoinedNames, Names
from cellwright.analyst.profile import Column
from cellwright.analyst.writing.literals import wrapped
from cellwright.analyst.writing.words import listed, live_words_cell, plain, shown
from cellwright.notebook.wording import literal


def join_cells(joint: JoinedNames, names: Names) -> Iterator[CellDraft]:
    """The joined table, and below it how many rows found a partner."""
    yield CellDraft(name=joint.variable, code="\n".join(_code(joint)))
    yield live_words_cell(names.free(f"about_{joint.variable}"), _about(joint))


def _code(joint: JoinedNames) -> Iterator[str]:
    left, right, by = joint.left.table, joint.right.table, _key_name(joint)
    names = {each.column.name: each.name for each in joint.columns if each.table == joint.join.right}
    renamed = {column: name for column, name in names.items() if column != name}
    if joint.join.needs:
        levelled = {"spaces": "spaces around them", "case": "upper and lower case", "zeros": "leading zeros"}
        yield f"# The keys are compared without {listed([levelled[need] for need in joint.join.needs])}."
    yield f"_left = {left}.assign({by}={_key(left, joint.left_key, joint)})"
    right_key = literal(joint.right_key.name)
    yield f"_right = {right}.assign({by}={_key(right, joint.right_key, joint)}).drop(columns={right_key})"
    if renamed:
        yield f"_right = _right.rename(columns={wrapped(renamed)})"
    yield "# One row per key on the right, so that no row on the left is counted twice."
    yield f'_right = _right.dropna(subset="{by}").drop_duplicates("{by}")'
    yield f'{joint.variable} = _left.merge(_right, how="left", on="{by}", validate="many_to_one")'
    yield f'{joint.variable} = {joint.variable}.drop(columns="{by}")'
    yield f'{joint.found} = _left["{by}"].isin(_right["{by}"]).mean()'


def _key_name(joint: JoinedNames) -> str:
    """A name that neither table has for what the keys are compared by."""
    taken = {name for each in joint.columns for name in (each.name, each.column.name)}
    name = "joined_by"
    while name in taken:
        name += "_"
    return name


def _key(table: str, key: Column, joint: JoinedNames) -> str:
    code = f"{table}[{literal(key.name)}]"
    kinds = {joint.left_key.kind, joint.right_key.kind}
    if len(kinds) == 1 and not joint.join.needs:
        return code
    if key.kind == "integer":
        code += '.map("{:.0f}".format, na_action="ignore").astype("str")'
    for need, level in (("spaces", ".str.strip()"), ("case", ".str.casefold()"), ("zeros", '.str.lstrip("0")')):
        code += level if need in joint.join.needs else ""
    return code


def _about(joint: JoinedNames) -> str:
    join = joint.join
    return (
        f"## {shown(join.left)} with {shown(join.right)}\n\n"
        f"Joined by {shown(join.left_column, 40)} = {shown(join.right_column, 40)}: "
        f"{{{joint.found}:.1%}} of {{len({joint.variable}):,}} rows found a partner; of the others, what "
        f"{shown(join.right)} would say is missing."
    )


def join_check(joint: JoinedNames) -> tuple[str, str, str]:
    """A test that the join neither lost nor doubled a row: its name, what it shows, its code."""
    test = f"test_{joint.variable}_has_every_row_once"
    says = f"Joining {plain(joint.join.left)} with {plain(joint.join.right)} neither loses nor doubles a row."
    return test, says, f"def {test}():\n    assert len({joint.variable}) == len({joint.left.table})"
