"""How calls ended, read back from the ledger's file."""

from __future__ import annotations

from cellwright.errors import Defect
from cellwright.models.calls import Answered, Cancelled, Usage
from cellwright.models.ledger import texts
from cellwright.models.ledger.book import read_price
from cellwright.models.ledger.file import LedgerFile
from cellwright.models.names import CallId
from cellwright.policy import Price


def read_outcome(file: LedgerFile, id: CallId) -> Answered | Cancelled:
    """How a call ended that was answered or cancelled."""
    row = file.row(
        "SELECT state, use.model, input, output, cache_read, cache_write, is_estimate, amount, currency, why"
        " FROM call JOIN use ON use.call = call.number AND kind IN ('answer', 'free', 'cancelled') WHERE id = ?",
        id,
    )
    if row is None:
        raise Defect(f"Call {id!r} ended and nobody wrote down what it used.")
    state, model, *counts, is_estimate, amount, currency, why = row
    usage = Usage(
        input_tokens=counts[0],
        output_tokens=counts[1],
        cache_read_tokens=counts[2],
        cache_write_tokens=counts[3],
        is_estimate=bool(is_estimate),
    )
    price = read_price(amount, currency, why)
    if state == "cancelled":
        return Cancelled(model=model, usage=usage, price=price)
    return read_answer(file, id, usage, price)


def read_answer(file: LedgerFile, id: CallId, usage: Usage, price: Price) -> Answered:
    """The answer of a call, with this usage and price."""
    row = file.row(
        "SELECT model, reason, attempts, milliseconds, response FROM call JOIN answer ON call = number WHERE id = ?",
        id,
    )
    if row is None:
        raise Defect(f"Call {id!r} was answered and its answer is gone.")
    model, reason, attempts, milliseconds, response = row
    return Answered(
        response=texts.read_response(response),
        model=model,
        usage=usage,
        price=price,
        reason=reason,
        attempts=texts.read_attempts(attempts),
        source="record",
        milliseconds=milliseconds,
    )
