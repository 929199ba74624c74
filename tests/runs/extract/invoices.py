"""Invoices in five layouts with planted truth, and a scripted reader that says what a careful model would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from cellwright.testing import Received, SayJson
from tests.documents.pdfs import Line, endless_pdf, pdf_of
from tests.models.testbed import ModelTestbed

PARTIES = ("Acme Ltd", "Müller & Söhne GmbH", "Northwind Traders", "Café du Coin", "O'Neill Brothers", "Fabrikam Inc")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """What one invoice says, and how."""

    number: int

    @property
    def name(self) -> str:
        return f"invoice-{self.number:03d}.pdf"

    @property
    def truth(self) -> dict[str, Any]:
        day = date(2023, 1, 1) + timedelta(days=7 * self.number % 700)
        amount = round(100 + self.number * 137.31, 2)
        return {"party": PARTIES[self.number % len(PARTIES)], "date": day.isoformat(), "amount": amount}

    @property
    def quotes(self) -> dict[str, str]:
        """How this layout says each value."""
        told = self.truth
        day = date.fromisoformat(told["date"])
        english = f"{told['amount']:,.2f}"
        german = english.translate(str.maketrans(",.", ".,"))
        party = told["party"]
        written = f"{day.day} {MONTHS[day.month - 1]} {day.year}"
        return [
            {"party": f"Bill to: {party}", "date": f"Date: {told['date']}", "amount": f"Total due: {english} EUR"},
            {"party": f"Kunde {party}", "date": f"vom {day:%d.%m.%Y}", "amount": f"Gesamt {german} €"},
            {"party": f"between us and {party},", "date": f"on the {written}", "amount": f"a sum of USD {english}"},
            {"party": party, "date": written, "amount": english},
            {"party": f"Customer: {party}", "date": f"Issued {day:%m/%d/%Y}", "amount": f"Amount payable {english}"},
        ][self.number % 5]

    def pdf(self) -> bytes:
        said = self.quotes
        match self.number % 5:
            case 0 | 1:
                return pdf_of([[f"Invoice {self.number}", *said.values(), "Thank you."]])
            case 2:
                return pdf_of([["This contract is made", *(f"{each}" for each in said.values())], ["Signed by both."]])
            case 3:
                heads = [Line(x=60 + 170 * at, y=700, text=name.title()) for at, name in enumerate(said)]
                cells = [Line(x=60 + 170 * at, y=680, text=text) for at, text in enumerate(said.values())]
                return pdf_of([[*heads, *cells]], title=f"Table {self.number}")
            case _:
                return pdf_of([["Cover sheet"], ["Terms"], [*said.values()]], title=f"Letter {self.number}")

    def said(self, **changes: Any) -> dict[str, Any]:
        """A row as a model gives it."""
        page = 3 if self.number % 5 == 4 else 1
        row: dict[str, Any] = {
            name: {"value": str(self.truth[name]), "quote": quote, "page": page} for name, quote in self.quotes.items()
        }
        return row | changes


def write_invoices(folder: Path, count: int) -> list[Invoice]:
    """So many invoices."""
    folder.mkdir(exist_ok=True)
    invoices = [Invoice(number=number) for number in range(1, count + 1)]
    for invoice in invoices:
        (folder / invoice.name).write_bytes(invoice.pdf())
    return invoices


def write_unreadable(folder: Path, scans: int) -> None:
    """Scans, a broken one and a hostile one."""
    for number in range(scans):
        (folder / f"scan-{number:03d}.pdf").write_bytes(pdf_of([[] for _ in range(number + 1)]))
    (folder / "broken.pdf").write_bytes(pdf_of([["lost"]])[:150])
    (folder / "hostile.pdf").write_bytes(endless_pdf())


def speaks_of(name: str) -> Callable[[Received], bool]:
    """Requests whose document is called so."""
    return lambda received: f'from="{name}"' in received.prompt


def script_reader(testbed: ModelTestbed, *rows: tuple[str, list[dict[str, Any]]]) -> None:
    """A reader that gives these rows of the documents of these names, however often it is asked."""
    for name, said in rows:
        testbed.provider.when(speaks_of(name), SayJson({"rows": said}), for_ever=True)
