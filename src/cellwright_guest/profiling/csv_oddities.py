"""What was noticed while a text was read, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from pyarrow import compute

from cellwright_guest.profiling.arrow import Table, call
from cellwright_guest.profiling.csv_dialect import Guess
from cellwright_guest.profiling.csv_rows import Rows, Text
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.sources import example, plural
from cellwright_guest.profiling.text_encoding import Encoding

HUGE_CHARACTERS: Final = 100_000
_READ_TWICE: Final = "Ã[¤¶¼Ÿ©¨ª«§±³²´®¯º¹»¸¦¡¢£¥]|â€[™œž“”¦]|Â[°£€§ ]"
"""UTF-8 that somebody once took for Windows' own encoding and saved again."""


def text_oddities(text: Text, rows: Rows, encoding: Encoding, guess: Guess, sample: Table) -> list[Oddity]:
    """Everything about the file and its lines; what the values mean is for others to say."""
    return [
        *_of_encoding(encoding, text, sample),
        *_of_names(text),
        *_of_lines(text, rows, guess),
        *_of_fields(text, sample),
    ]


def _of_encoding(encoding: Encoding, text: Text, sample: Table) -> Iterator[Oddity]:
    if encoding.is_guessed:
        says = f"Nothing in the file says how its characters are encoded; it was read as {encoding.name}."
        yield Oddity(kind="encoding-guessed", says=says, severity="note")
    if encoding.bad_bytes:
        says = f"{plural(encoding.bad_bytes, 'byte')} could not be read as {encoding.name} and stand as �."
        yield Oddity(kind="wrong-encoding", says=says, count=encoding.bad_bytes)
    for name, values in zip(text.layout.names, sample.columns, strict=False):
        hits = call("match_substring_regex", values, options=compute.MatchSubstringOptions(_READ_TWICE))
        if count := call("sum", hits).as_py() or 0:
            shown = values.filter(hits)[0].as_py()
            says = (
                f"{plural(count, 'value')} of {name!r} were saved in a wrong encoding once, such as {example(shown)!r}."
            )
            yield Oddity(kind="wrong-encoding", says=says, column=name, count=count, examples=(example(shown),))


def _of_names(text: Text) -> Iterator[Oddity]:
    header = text.layout.header
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    if twice:
        shown = tuple(example(name) for name in twice[:5])
        verb = "stands" if len(twice) == 1 else "stand"
        says = f"{plural(len(twice), 'column name')} {verb} more than once: {', '.join(map(repr, shown))}."
        yield Oddity(kind="duplicate-names", says=says, count=len(twice), examples=shown)
    unnamed = sum(1 for name in text.layout.names if name.startswith("Unnamed: "))
    if unnamed:
        yield Oddity(kind="unnamed-columns", says=f"{plural(unnamed, 'column')} without a name.", count=unnamed)
    elif not header:
        says = "The file has no line of names: the columns were numbered."
        yield Oddity(kind="unnamed-columns", says=says, count=text.layout.width, severity="note")


def _of_lines(text: Text, rows: Rows, guess: Guess) -> Iterator[Oddity]:
    before = [" ".join(cell for cell in record if cell) for record in guess.records[: text.layout.start] if record]
    if before:
        says = f"{plural(len(before), 'line')} before the table are no rows and are passed over."
        shown = tuple(example(line) for line in before[:5])
        yield Oddity(kind="footnotes", says=says, count=len(before), examples=shown, severity="note")
    notes = [" ".join(cell for cell in record if cell) for record in rows.notes if any(record)]
    if notes:
        says = f"{plural(len(notes), 'line')} at the end are notes, no rows, and are left out."
        shown = tuple(example(line) for line in notes[:5])
        yield Oddity(kind="footnotes", says=says, count=len(notes), examples=shown)
    if rows.repeated:
        says = f"The line of names is repeated {plural(rows.repeated, 'time')} among the rows."
        values = tuple(example(name) for name in text.layout.header[:1])
        yield Oddity(
            kind="repeated-header", says=says, count=rows.repeated, rows=tuple(rows.repeated_rows), values=values
        )
    yield from _of_ragged(text, rows)


def _of_ragged(text: Text, rows: Rows) -> Iterator[Oddity]:
    told: list[str] = []
    if rows.short:
        told.append(f"{plural(rows.short, 'row')} with fewer fields than columns (the rest is empty)")
    if rows.long:
        told.append(f"{plural(rows.long, 'row')} with more (what is too much is not read)")
    if told:
        says = f"Rows of different lengths: {', '.join(told)}."
        count = rows.short + rows.long
        severity = "problem" if rows.long else "warning"
        yield Oddity(kind="ragged-rows", says=says, count=count, rows=tuple(rows.ragged_rows[:20]), severity=severity)
    if not text.dialect.quote and text.dialect.delimiter != r"\s+":
        says = "A quote opens and never closes: quotes are read as plain characters."
        yield Oddity(kind="ragged-rows", says=says, count=1)


def _of_fields(text: Text, sample: Table) -> Iterator[Oddity]:
    if text.width < text.layout.width:
        says = f"Only the first {text.width:,} of {text.layout.width:,} columns were read."
        yield Oddity(kind="not-read", says=says, count=text.layout.width - text.width)
    for name, values in zip(text.layout.names, sample.columns, strict=False):
        longest = call("max", call("utf8_length", values)).as_py() or 0
        if longest > HUGE_CHARACTERS:
            says = f"The longest value of {name!r} has {longest:,} characters."
            yield Oddity(kind="huge-fields", says=says, column=name, count=longest)
