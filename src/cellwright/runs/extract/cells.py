"""The notebook of an extraction: plain cells over the files beside it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cellwright.notebook.edits import CreateCell, Edit
from cellwright.notebook.source_text import literal, markdown_text
from cellwright.runs.extract.outcomes import ExtractedDocument, counted_words
from cellwright.runs.goal.extraction_order import ExtractionOrder, field_list


def extraction_cells(
    title: str, order: ExtractionOrder, documents: Sequence[ExtractedDocument], folder: str, *, has_marimo: bool
) -> list[Edit]:
    """What reads the tables and shows them, with a test that every value has its evidence."""
    words = counted_words(documents, len(order.fields))
    readings = " Each document was read twice; what the readings disagree about is empty." if order.readings > 1 else ""
    about = (
        f"# {markdown_text(title)}\n\n{markdown_text(words)}{readings}\n\n"
        f"Fields: {markdown_text(field_list(order.fields))}. Every value has a quote that stands in its document word "
        "for word; a value that has none is empty, and `marks` says why."
    )
    setup = [] if has_marimo else [CreateCell(code="import marimo as mo", name="imports")]
    codes = [
        (f'mo.md(r"""\n{about}\n""")', "about"),
        (
            "import pandas as pd\n\n"
            f"folder = mo.notebook_dir() / {literal(folder)}\n"
            'rows = pd.read_parquet(folder / "rows.parquet")\n'
            'evidence = pd.read_parquet(folder / "evidence.parquet")\n'
            'skipped = pd.read_parquet(folder / "skipped.parquet")',
            "read_tables",
        ),
        ("mo.ui.table(rows, selection=None)", "show_rows"),
        ('mo.vstack([mo.md("## Evidence"), mo.ui.table(evidence, selection=None)])', "show_evidence"),
        (
            'mo.vstack([mo.md("## Skipped"), mo.ui.table(skipped, selection=None)])'
            ' if len(skipped) else mo.md("No document was skipped.")',
            "show_skipped",
        ),
        (
            "def test_every_value_has_its_quote():\n"
            '    told = evidence[evidence["value"].notna()]\n'
            f"    values = rows[{[each.name for each in order.fields]!r}].notna().sum().sum()\n"
            '    assert len(told) == values, f"{values} values, {len(told)} with evidence"\n'
            '    assert (told["quote"].str.len() > 0).all()\n'
            '    assert told["page"].notna().all()',
            "check_evidence",
        ),
    ]
    return [*setup, *(CreateCell(code=code, name=name) for code, name in codes)]
