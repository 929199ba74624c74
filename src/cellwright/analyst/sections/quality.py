"""The second section: what is wrong with the data, how far to trust it, repairs that a reader switches, joins. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.methods.source import conversion_cells
from cellwright.analyst.names import JoinedNames, NotebookNames, TableNames
from cellwright.analyst.sections import text
from cellwright.analyst.sections.readers import read_tables
from cellwright.analyst.sections.repair_cells import counts_of, functions_of, repair_cells
from cellwright.analyst.sections.repairs import repair_of, repairs_for
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile, Oddity, Profile, TableProfile


def join_cells(joint: JoinedNames, names: NotebookNames) -> Iterator[CellDraft]:
    """The joined table, below it how many rows found a partner, and a test that no row was lost or doubled."""
    found = f'{joint.found} = _left["{_key_name(joint)}"].isin(_right["{_key_name(joint)}"]).mean()'
    yield CellDraft(name=joint.variable, code="\n".join([*join_code(joint), found]))
    yield text.live_words_cell(names.free(f"about_{joint.variable}"), _about(joint))
    shows = (
        f"Joining {text.plain(joint.join.left)} with {text.plain(joint.join.right)} neither loses nor doubles a row."
    )
    assertion = f"    assert len({joint.variable}) == len({joint.left.table})"
    yield _check(f"{joint.variable}_has_every_row_once", shows, [assertion], names)


def _check(what: str, shows: str, assertions: Sequence[str], names: NotebookNames) -> CellDraft:
    return text.check_cell(names.free(f"check_{what}"), shows, "\n".join([f"def test_{what}():", *assertions]))


def join_code(joint: JoinedNames) -> Iterator[str]:
    """The lines that join two tables."""
    left, right, by = joint.left.table, joint.right.table, _key_name(joint)
    names = {each.column.name: each.name for each in joint.columns if each.table == joint.join.right}
    renamed = {column: name for column, name in names.items() if column != name}
    if joint.join.needs:
        levelled = {"spaces": "spaces around them", "case": "upper and lower case", "zeros": "leading zeros"}
        yield f"# The keys are compared without {text.listed([levelled[need] for need in joint.join.needs])}."
    yield f"_left = {left}.assign({by}={_key(left, joint.left_key, joint)})"
    right_key = literal(joint.right_key.name)
    yield f"_right = {right}.assign({by}={_key(right, joint.right_key, joint)}).drop(columns={right_key})"
    if renamed:
        yield f"_right = _right.rename(columns={text.wrapped(renamed)})"
    yield "# One row per key on the right, so that no row on the left is counted twice."
    yield f'_right = _right.dropna(subset="{by}").drop_duplicates("{by}")'
    yield f'{joint.variable} = _left.merge(_right, how="left", on="{by}", validate="many_to_one")'
    yield f'{joint.variable} = {joint.variable}.drop(columns="{by}")'


def _key_name(joint: JoinedNames) -> str:
    """A name that neither table has for what the keys are compared by."""
    taken = {name for each in joint.columns for name in (each.name, each.column.name)}
    name = "joined_by"
    while name in taken:
        name += "_"
    return name


def _key(table: str, key: ColumnProfile, joint: JoinedNames) -> str:
    code = f"{table}[{literal(key.name)}]"
    if joint.left_key.kind == joint.right_key.kind and not joint.join.needs:
        return code
    if key.kind == "integer":
        code += '.map("{:.0f}".format, na_action="ignore").astype("str")'
    for need, level in (("spaces", ".str.strip()"), ("case", ".str.casefold()"), ("zeros", '.str.lstrip("0")')):
        code += level if need in joint.join.needs else ""
    return code


def _about(joint: JoinedNames) -> str:
    join = joint.join
    return (
        f"## {text.shown(join.left)} with {text.shown(join.right)}\n\n"
        f"Joined by {text.shown(join.left_column, 40)} = {text.shown(join.right_column, 40)}: "
        f"{{{joint.found}:.1%}} of {{len({joint.variable}):,}} rows found a partner; of the others, what "
        f"{text.shown(join.right)} would say is missing."
    )


_MAX_PROBLEMS: Final = 24
_ORDER: Final = {"problem": 0, "warning": 1, "note": 2}


def quality_section(*, profile: Profile, names: NotebookNames, wanted: AnalysisRequest) -> Section:
    """Per table: its problems, the switches, the repaired table and a log; then joined tables."""
    del wanted  # trust is a matter of the whole table
    tables = read_tables(profile, names)
    needed = {function for table, _ in tables for function in functions_of(table)}
    cells: list[CellDraft] = [
        text.words_cell(names.free("how_far_to_trust_it"), _trust([table for table, _ in tables]))
    ]
    cells += conversion_cells(each for each in ("as_number", "as_date", "as_flag") if each in needed)
    for table, own in tables:
        cells += _problem_cells(table, own, names)
        cells += _repair_cells(table, own, names)
        cells += _checks(table, own, names)
    cells += [cell for joint in names.joined for cell in join_cells(joint, names)]
    return Section(
        id="quality",
        title="Judge the data and offer repairs",
        cells=tuple(cells),
        caveats=tuple(_caveats([table for table, _ in tables], names.joined)),
    )


# ── how far to trust it ──


def _trust(tables: Sequence[TableProfile]) -> str:
    judged = [f"**{text.shown(table.name)}.** {' '.join(_judgement(table))}" for table in tables]
    return "\n\n".join(["## How far to trust the data", *judged])


def _judgement(table: TableProfile) -> Iterator[str]:
    grave = [oddity for oddity in table.oddities if oddity.severity == "problem"]
    minor = [oddity for oddity in table.oddities if oddity.severity == "warning"]
    cells = table.looked_at * len(table.columns)
    missing = sum(column.nulls for column in table.columns)
    if grave:
        lesser = f" and {text.counted(len(minor), 'lesser one')}" if minor else ""
        yield f"Use it with care: {text.counted(len(grave), 'serious problem')}{lesser}, listed below."
    elif minor:
        are = "is" if len(minor) == 1 else "are"
        yield f"Usable once {text.counted(len(minor), 'problem')} below {are} dealt with."
    else:
        yield "No problem was found that would distort results."
    yield f"{text.percent(missing, cells)} of its values are missing." if missing else "No value is missing."
    empty = [text.shown(column.name, 40) for column in table.columns if not column.count]
    if empty:
        yield f"Nothing at all stands in {text.listed(empty)}."
    patterns = [
        f"{text.shown(column.name, 40)} ({text.shown(column.null_pattern, 100)})"
        for column in table.columns
        if column.null_pattern and column.count
    ]
    if patterns:
        yield f"Values are not missing by chance in {text.listed(patterns, 3)}: what is left may not stand for all."
    if table.looked_at < 30:
        yield f"With {text.rows_of(table)}, hardly anything can be told from chance."
    if text.is_sampled(table):
        yield f"Only a sample was looked at: {text.shown(table.sampling, 120)}."


# ── problems ──


def _problem_cells(table: TableProfile, own: TableNames, names: NotebookNames) -> Iterator[CellDraft]:
    heading = f"### Problems of {text.shown(table.name)}"
    oddities = sorted(table.oddities, key=lambda each: (_ORDER[each.severity], -each.count))
    if not oddities:
        yield text.words_cell(names.free(f"{own.table}_quality"), f"{heading}\n\nNone was found.")
        return
    left_out = len(oddities) - _MAX_PROBLEMS
    more = f" The {_MAX_PROBLEMS} gravest of {len(oddities):,} are listed." if left_out > 0 else ""
    words = f"{heading}\n\nWhat was found in the file, the gravest first, and what could be done about it.{more}"
    yield text.words_cell(names.free(f"{own.table}_quality"), words)
    variable = names.free(f"{own.table}_problems")
    lines = [f"    {text.code_of(_problem(each, table))}," for each in oddities[:_MAX_PROBLEMS]]
    columns = text.code_of(["how grave", "column", "what", "how many", "repair"])
    code = f"{variable} = pd.DataFrame(\n    [\n" + "".join(f"    {line}\n" for line in lines)
    code += f"    ],\n    columns={columns},\n)\n"
    code += f'mo.ui.table({variable}, selection=None, wrapped_columns=["what"], show_column_summaries=False)'
    yield CellDraft(name=variable, code=code)


def _problem(oddity: Oddity, table: TableProfile) -> list[str | int]:
    repair = repair_of(oddity, table)
    said = text.plain(oddity.says, 240)
    return [
        oddity.severity,
        text.plain(oddity.column),
        said,
        oddity.count,
        f"switch: {repair}" if repair else "know of it",
    ]


# ── repairs ──


def _repair_cells(table: TableProfile, own: TableNames, names: NotebookNames) -> Iterator[CellDraft]:
    repairs = repairs_for(table)
    yield text.words_cell(names.free(f"{own.table}_repairs_explained"), _explained(table))
    switches = "".join(
        f"        {literal(each.name)}: mo.ui.switch(value={each.is_on}, label={literal(each.says)}),\n"
        for each in repairs
    )
    inside = f"\n    {{\n{switches}    }}\n" if repairs else "{}"
    shows = f"\n{own.repairs}.vstack()" if repairs else ""
    yield CellDraft(name=own.repairs, code=f"{own.repairs} = mo.ui.dictionary({inside}){shows}")
    yield from repair_cells(table, own)
    yield from _log_cells(table, own, names)


def _explained(table: TableProfile) -> str:
    repairs = repairs_for(table)
    if not repairs:
        return f"### Repairs of {text.shown(table.name)}\n\nNone is needed. Columns are read as what they hold."
    on = [each.name for each in repairs if each.is_on]
    off = [each.name for each in repairs if not each.is_on]
    words = f"### Repairs of {text.shown(table.name)}\n\n"
    words += "Each is a switch: turn one, and everything below is computed again."
    words += f" On from the start, because they are certain: {text.listed(on, 20)}." if on else ""
    words += f" Off, because they are a matter of judgement: {text.listed(off, 20)}." if off else ""
    return words


def _log_cells(table: TableProfile, own: TableNames, names: NotebookNames) -> Iterator[CellDraft]:
    dropped = f"{{len({own.as_read}) - len({own.table}):,}}"
    words = (
        f"Of {{len({own.as_read}):,}} rows as read, {{len({own.table}):,}} are used: {dropped} dropped. "
        "What each repair touches, whether it is on or off:"
    )
    yield text.live_words_cell(names.free(f"{own.table}_rows_used"), words)
    counts = counts_of(table, own)
    merged = "{\n" + "".join(f"    **{each},\n" for each in counts) + "}" if counts else "{}"
    code = f"""
_touched = {merged}
{own.repaired} = pd.DataFrame(
    [
        {{"repair": _name, "is on": {own.repairs}.value.get(_name, True), "touches": _count}}
        for _name, _count in _touched.items()
    ],
    columns=["repair", "is on", "touches"],
)
mo.ui.table({own.repaired}, selection=None, show_column_summaries=False)
"""
    yield CellDraft(name=own.repaired, code=code.strip())


# ── checks ──


def _checks(table: TableProfile, own: TableNames, names: NotebookNames) -> Iterator[CellDraft]:
    assertions = [f'    assert set({own.repairs}.value) <= set({own.repaired}["repair"])']
    assertions.append(f"    assert len({own.table}) <= len({own.as_read})")
    if not any(repair.stage == "rows" for repair in repairs_for(table)):
        assertions.append(f"    assert len({own.table}) == len({own.as_read})")
    shows = f"Every repair of {text.plain(table.name)} is in the log, and no row vanished beside it."
    yield _check(f"{own.table}_repairs_are_counted", shows, assertions, names)
    keys = [key for key in table.keys if len(key) == 1]
    if keys and not text.is_sampled(table):
        assertion = f"    assert not {own.table}[{literal(keys[0][0])}].dropna().duplicated().any()"
        shows = f"{text.plain(keys[0][0])} names each row of {text.plain(table.name)} once."
        yield _check(f"{own.table}_key_is_unique", shows, [assertion], names)


def _caveats(tables: Sequence[TableProfile], joined: Sequence[JoinedNames]) -> Iterator[str]:
    for table in tables:
        grave = [text.plain(oddity.says, 200) for oddity in table.oddities if oddity.severity == "problem"]
        for each in grave[:3]:
            yield f"{text.plain(table.name)}: {each}"
    for joint in joined:
        if joint.join.left_coverage < 1:
            yield (
                f"{text.percent(1 - joint.join.left_coverage, 1)} of the values of "
                f"{text.plain(joint.join.left_column)} in {text.plain(joint.join.left)} have no partner in "
                f"{text.plain(joint.join.right)}."
            )
