"""What the ledger's file says of calls.

Every use once with running totals by party and day, how calls ended, how long they took.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, Literal

from cellwright.errors import Defect, UserError
from cellwright.models.calls import Cancelled, ModelAnswer, Payer, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.models.money import call_records
from cellwright.models.money.ledger_file import LedgerFile
from cellwright.models.reports import LatencyRow, UsageBy, UsageRow
from cellwright.policy import budgets as policy
from cellwright.policy.budgets import PARTIES, Account, Limit, Per, Use, UseId
from cellwright.policy.money import Money, Price, UnknownPrice, add

Kind = Literal["answer", "failed", "cancelled", "unknown", "charged", "free"]

_MOST_TOKENS: Final = 10**12
"""Limit of what a provider's count is believed, so that sums stay within the file's integers."""

_KEYS: Final[dict[UsageBy, str]] = {
    "run": "call.run",
    "model": "use.model",
    "day": "substr(use.at, 1, 10)",
    "role": "call.role",
}


def enter(
    file: LedgerFile, call: int, payer: Payer, kind: Kind, model: str, at: str, usage: TokenUsage, price: Price
) -> None:
    """Write down one use of a call and add it to its parties' totals. Within a transaction."""
    amount, currency, why = written(price)
    counts = [counted(number) for number in usage.counts]
    file.change(
        "INSERT INTO use VALUES (?, (SELECT coalesce(max(place) + 1, 0) FROM use WHERE call = ?),"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(call, call, kind, model, at, *counts, usage.is_estimate, amount, currency, why),
    )
    _add_to_totals(file, payer, at[:10], counts[0] + counts[1], currency, amount or "0")


def take_back_unknown(file: LedgerFile, call: int, payer: Payer) -> None:
    """Strike out the last use of a call that nobody knew about: now somebody does. Within a transaction."""
    row = file.row(
        "SELECT place, at, input + output, currency, amount FROM use"
        " WHERE call = ? AND kind = 'unknown' ORDER BY place DESC LIMIT 1",
        call,
    )
    if row is not None:
        place, at, tokens, currency, amount = row
        file.change("DELETE FROM use WHERE call = ? AND place = ?", call, place)
        _add_to_totals(file, payer, at[:10], -tokens, currency, f"-{amount or '0'}")


def totals(file: LedgerFile, payer: Payer, limits: Sequence[Limit], day: date) -> policy.BudgetLedger:
    """What stands against these limits, as `policy` reads it. Only tokens and money are measured here."""
    measured = tuple(limit for limit in limits if limit.measure in ("tokens", "money"))
    standing, unpriced = dict[Account, Decimal](), dict[UseId, tuple[Use, date]]()
    for limit in measured:
        party = party_of(payer, limit.per)
        if party:
            standing.update(_standing(file, limit, party, day))
            unpriced.update(_unpriced(file, limit, party, day) if limit.measure == "money" else {})
    return policy.BudgetLedger(limits=measured, totals=standing, unpriced=unpriced)


def usage_rows(file: LedgerFile, by: UsageBy, since: str) -> tuple[UsageRow, ...]:
    """The book summed up, what was used last first for days, most used first otherwise."""
    key = _KEYS[by]
    rows = file.rows(
        f"SELECT {key}, use.call, use.kind, input, output, cache_read, cache_write, amount, currency"
        " FROM use JOIN call ON call.number = use.call WHERE use.at >= ? ORDER BY 1, 2",
        _since(since),
    )
    groups: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for what, *row in rows:
        groups[what].append(tuple(row))
    summed = [_summed(what, group) for what, group in groups.items()]
    if by == "day":
        return tuple(sorted(summed, key=lambda row: row.what, reverse=True))
    return tuple(sorted(summed, key=lambda row: (-row.calls, row.what)))


def party_of(payer: Payer, per: Per) -> str:
    """Whose account a call goes on."""
    return {"run": payer.run, "person": payer.person, "team": payer.team}[per]


def counted(tokens: int) -> int:
    """A provider's count, within what can be summed."""
    return min(max(tokens, 0), _MOST_TOKENS)


def written(price: Price) -> tuple[str | None, str, str]:
    """A price as amount, currency and why it is unknown."""
    match price:
        case Money() if price.is_sound:
            return f"{price.amount:f}", price.currency, ""
        case Money():
            return None, "", "the amount cannot be counted"
        case UnknownPrice():
            return None, "", price.why


def read_price(amount: str | None, currency: str, why: str) -> Price:
    """The price that was written."""
    return UnknownPrice(why=why) if amount is None else Money(amount=Decimal(amount), currency=currency)


def _add_to_totals(file: LedgerFile, payer: Payer, day: str, tokens: int, currency: str, amount: str) -> None:
    for per in PARTIES:
        if party := party_of(payer, per):
            file.change(
                "INSERT INTO total VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET tokens = tokens + excluded.tokens, amount = add_exactly(amount, excluded.amount)",
                *(per, party, day, currency, tokens, amount),
            )


def _standing(file: LedgerFile, limit: Limit, party: str, day: date) -> dict[Account, Decimal]:
    is_daily = limit.window == "day"
    first = day.isoformat() if is_daily else ""
    last = first if is_daily else "9999-12-31"
    rows = file.rows(
        "SELECT currency, tokens, amount FROM total WHERE per = ? AND party = ? AND day BETWEEN ? AND ?",
        *(limit.per, party, first, last),
    )
    standing = dict[Account, Decimal]()
    for currency, tokens, amount in rows:
        more = Decimal(tokens) if limit.measure == "tokens" else Decimal(amount)
        account = Account(
            measure=limit.measure,
            per=limit.per,
            party=party,
            currency=currency if limit.measure == "money" else "",
            day=day if is_daily else None,
        )
        # Nothing spent in a currency is not money of another currency.
        if more:
            standing[account] = add(standing.get(account, Decimal(0)), more)
    return standing


def _unpriced(file: LedgerFile, limit: Limit, party: str, day: date) -> dict[UseId, tuple[Use, date]]:
    row = file.row(
        "SELECT call.id, use.at, use.input + use.output, use.why, run, person, team"
        " FROM use JOIN call ON call.number = use.call"
        f" WHERE use.amount IS NULL AND call.{limit.per} = ? AND use.at >= ? ORDER BY use.call DESC LIMIT 1",
        *(party, day.isoformat() if limit.window == "day" else ""),
    )
    if row is None:
        return {}
    id, at, tokens, why, run, person, team = row
    use = Use(id=UseId(id), run=run, person=person, team=team, tokens=tokens, price=UnknownPrice(why=why))
    return {use.id: (use, date.fromisoformat(at[:10]))}


def _summed(what: str, uses: Sequence[tuple[Any, ...]]) -> UsageRow:
    """One row of the report. What nobody knows is counted in calls, never in tokens or money."""
    paid = dict[str, Decimal]()
    known = [use for use in uses if use[1] != "unknown"]
    for *_, amount, currency in known:
        if amount is not None:
            paid[currency] = add(paid.get(currency, Decimal(0)), Decimal(amount))
    columns = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return UsageRow(
        what=what,
        calls=len({use[0] for use in uses}),
        **{name: sum(use[column] for use in known) for column, name in enumerate(columns, start=2)},
        paid=dict(sorted(paid.items())),
        unpriced_calls=len({use[0] for use in known if use[6] is None}),
        unknown_calls=len({use[0] for use in uses if use[1] == "unknown"}),
    )


def read_outcome(file: LedgerFile, id: CallId) -> ModelAnswer | Cancelled:
    """How a call ended that was answered or cancelled."""
    row = file.row(
        "SELECT state, use.model, input, output, cache_read, cache_write, is_estimate, amount, currency, why"
        " FROM call JOIN use ON use.call = call.number AND kind IN ('answer', 'free', 'cancelled') WHERE id = ?",
        id,
    )
    if row is None:
        raise Defect(f"Call {id!r} ended and nobody wrote down what it used.")
    state, model, *counts, is_estimate, amount, currency, why = row
    usage = TokenUsage(*counts, is_estimate=bool(is_estimate))
    price = read_price(amount, currency, why)
    if state == "cancelled":
        return Cancelled(model=model, usage=usage, price=price)
    return read_answer(file, id, usage, price)


def read_answer(file: LedgerFile, id: CallId, usage: TokenUsage, price: Price) -> ModelAnswer:
    """The answer of a call, with this usage and price."""
    row = file.row(
        "SELECT model, reason, attempts, milliseconds, response FROM call JOIN answer ON call = number WHERE id = ?",
        id,
    )
    if row is None:
        raise Defect(f"Call {id!r} was answered and its answer is gone.")
    model, reason, attempts, milliseconds, response = row
    return ModelAnswer(
        response=call_records.read_response(response),
        model=model,
        usage=usage,
        price=price,
        reason=reason,
        attempts=call_records.read_attempts(attempts),
        source="record",
        milliseconds=milliseconds,
    )


def latency_rows(file: LedgerFile, since: str) -> tuple[LatencyRow, ...]:
    """Every model that was asked since then, the most used first."""
    since = _since(since)
    taken: defaultdict[str, list[int]] = defaultdict(list)
    for model, milliseconds in file.rows(
        "SELECT model, milliseconds FROM call WHERE state = 'answered' AND source = 'provider' AND ended_at >= ?", since
    ):
        taken[model].append(milliseconds)
    failed = Counter[str]()
    for (written,) in file.rows("SELECT attempts FROM call WHERE attempts != '[]' AND ended_at >= ?", since):
        failed.update(attempt.model for attempt in call_records.read_attempts(written))
    rows: list[LatencyRow] = []
    for model in {**taken, **failed}:
        times = sorted(taken.get(model, []))
        p50_ms, p95_ms = _share(times, 50), _share(times, 95)
        rows.append(LatencyRow(model=model, calls=len(times), failures=failed[model], p50_ms=p50_ms, p95_ms=p95_ms))
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.model)))


def _share(times: list[int], percent: int) -> int:
    """The least time within which this share of them lies; 0 if there are none."""
    return times[max(0, -(-len(times) * percent // 100) - 1)] if times else 0


def utc_now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


def written_time(time: datetime) -> str:
    """A time as the book writes it, so that times compare as text."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def _since(since: str) -> str:
    """A person's day or time as the book writes it. Raises `UserError`."""
    if not since:
        return ""
    try:
        time = datetime.fromisoformat(since)
    except ValueError as error:
        raise UserError(f"{since!r} is no day or time.", hint="Write 2026-11-15 or 2026-11-15T08:00:00Z.") from error
    return written_time(time if time.tzinfo is not None else time.replace(tzinfo=UTC))
