"""Every call to a model, written down before it is sent and when it is answered; so nothing is paid twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

from cellwright.errors import Defect
from cellwright.models.calls import Cancelled, FailedAttempt, ModelAnswer, ModelCall, Payer, TokenUsage
from cellwright.models.config.catalogue import ProbeResult
from cellwright.models.config.names import CallId, ModelName
from cellwright.models.money import call_records, usage_book
from cellwright.models.money.call_records import CallStanding, OpenCall, PriceOf, SentCall
from cellwright.models.money.ledger_file import LedgerFile
from cellwright.models.money.usage_book import Kind, read_answer, read_outcome, utc_now
from cellwright.models.reports import LatencyRow, UsageBy, UsageRow
from cellwright.policy import budgets as policy
from cellwright.policy.budgets import Limit
from cellwright.policy.money import Money, Price, UnknownPrice

_SENT: Final = "id, model, sent_at, idempotency_key, response_id, is_background"
_ESTIMATE: Final = "number, estimated_input, estimated_output, estimated_amount, estimated_currency"
_SENT_AGAIN: Final = ", ".join(
    f"{column} = excluded.{column}" for column in (*_SENT.split(", ")[1:], *_ESTIMATE.split(", ")[1:], "state")
)
_NOTHING: Final = TokenUsage()
_FREE: Final = Money(amount=Decimal(0))
_NOT_ESTIMATED: Final = UnknownPrice(why="nobody estimated it")


class Ledger:
    """The record of every call. Blocking, a fraction of a millisecond a method; any thread may call it.

    What a method wrote is kept when it returns, whatever happens to the process or the machine afterwards. If it raises
    `Unavailable`, that cannot be promised: then nothing may be sent. Calls from several threads share their waits for
    the disk.
    """

    def __init__(
        self,
        path: Path,
        *,
        mask: Callable[[str], str],
        price_of: PriceOf,
        clock: Callable[[], datetime] = utc_now,
        wait_seconds: float = 5,
    ) -> None:
        """The ledger in this file, for this process alone. `mask` takes secrets out of the texts of failures.

        Raises `Unavailable` while another process has it, `UserError` if the file is not a ledger we can read.
        """
        self._file = LedgerFile.open(path, wait_seconds=wait_seconds)
        self._mask = mask
        self._price_of = price_of
        self._clock = clock
        self._flights = dict[CallId, OpenCall]()

    def close(self) -> None:
        """Free the file. What is in flight stays recorded as sent."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ── a call's life ──

    def adopt(self) -> tuple[SentCall, ...]:
        """What dead gateways sent and nobody saw answered: unknown from now on, counted at its estimate.

        Those that are `is_resumable` can still be fetched, and told with `answered`, `failed` or `cancelled`.
        """
        with self._file.transaction():
            rows = self._file.rows(f"SELECT {_SENT}, {_ESTIMATE} FROM call WHERE state = 'sent' ORDER BY number")
            lost = [row for row in rows if row[0] not in self._flights]
            for row in lost:
                self._lose(row)
        return tuple(SentCall.of(row[:6]) for row in lost)

    def begin(self, call: ModelCall) -> CallStanding:
        """How this call stands. If it may be sent, it is in flight from now on, until it is ended or let go.

        Raises `UserError` if its id belongs to another request.
        """
        request_hash = call.request.hash
        with self._file.lock:
            flight = self._flights.get(call.id)
            row = self._file.row(f"SELECT state, request_hash, {_SENT} FROM call WHERE id = ?", call.id)
            known = flight.request_hash if flight is not None else row[1] if row is not None else request_hash
            if known != request_hash:
                raise call_records.another_request(call.id)
            if flight is not None:
                raise Defect(f"Call {call.id!r} is in flight already.")
            begun = None if row is None else self._stands(call, row[0], row[2:])
            if begun is None:
                self._flights[call.id] = OpenCall(request_hash=request_hash, payer=call.payer, begun_at=self._now())
            return begun

    def sent(
        self,
        id: CallId,
        model: str,
        *,
        idempotency_key: str = "",
        is_background: bool = False,
        estimate: TokenUsage = _NOTHING,
        price: Price = _NOT_ESTIMATED,
        is_synced: bool = True,
    ) -> None:
        """It is about to be sent to this model: to be told before every sending, again for each attempt.

        Not synced, it must be by `sync` before the first byte leaves.
        """
        flight, (amount, currency, _) = self._flight(id), usage_book.written(price)
        tokens = usage_book.counted(estimate.input_tokens), usage_book.counted(estimate.output_tokens)
        changed = self._file.change(
            "INSERT INTO call (id, request_hash, state, run, step, role, person, team, model, idempotency_key,"
            " is_background, estimated_input, estimated_output, estimated_amount, estimated_currency, begun_at,"
            " sent_at)"
            " VALUES (?, ?, 'sent', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            f" ON CONFLICT (id) DO UPDATE SET {_SENT_AGAIN} WHERE state IN ('sent', 'failed', 'unknown')",
            *(id, flight.request_hash, *astuple(flight.payer), model),
            *(idempotency_key, is_background, *tokens, amount, currency, flight.begun_at, self._now()),
            is_synced=is_synced,
        )
        if changed != 1:
            raise Defect(f"Call {id!r} ended before and was to be sent again.")

    def provider_id(self, id: CallId, response_id: str) -> None:
        """The provider's own name for the answer it is making."""
        self._file.change("UPDATE call SET response_id = ? WHERE id = ? AND state = 'sent'", response_id, id)

    def attempted(self, id: CallId, attempt: FailedAttempt) -> None:
        """What a failed attempt used, at once rather than when the call ends; it is counted once all the same."""
        flight = self._flight(id)
        if attempt.usage is not None:
            with self._file.transaction():
                self._enter_attempt(*self._found(id), attempt)
            flight.charged.append(_print(attempt))

    def answered(self, id: CallId, outcome: ModelAnswer, *, cache_for: str = "", is_synced: bool = True) -> None:
        """The answer, with what it and the attempts before it used.

        With `cache_for`, the first model of its route, it may answer equal requests as well, if it is worth keeping.
        Not synced and lost in a power cut, the call is one whose answer is unknown.
        """
        response = call_records.response_json(outcome.response)
        kind: Kind = "answer" if outcome.source == "provider" else "free"
        with self._file.transaction(is_synced=is_synced):
            number, payer = self._end(id, "answered", outcome.model, outcome.attempts, outcome)
            self._file.change("INSERT INTO answer VALUES (?, ?)", number, response)
            self._enter(number, payer, kind, outcome.model, outcome.usage, outcome.price)
            if cache_for and call_records.is_worth_keeping(outcome, cache_for):
                self._file.change(
                    "INSERT OR REPLACE INTO cached SELECT request_hash, ?, number FROM call WHERE number = ?",
                    *(cache_for, number),
                )
        self._flights.pop(id, None)

    @property
    def is_synced(self) -> bool:
        """Whether all that was told so far survives a power cut."""
        return self._file.is_synced

    def sync(self) -> None:
        """Wait until all that was told so far survives a power cut."""
        self._file.sync()

    def failed(self, id: CallId, attempts: Sequence[FailedAttempt]) -> None:
        """No model answered. Asked again it may be sent again; what the attempts used stays counted."""
        if self._file.row("SELECT 1 FROM call WHERE id = ?", id) is not None:
            with self._file.transaction():
                self._end(id, "failed", "", attempts)
        self._flights.pop(id, None)

    def cancelled(self, id: CallId, outcome: Cancelled, attempts: Sequence[FailedAttempt] = ()) -> None:
        """The caller took it back; what was used until then is counted."""
        with self._file.transaction():
            number, payer = self._end(id, "cancelled", outcome.model, attempts)
            self._enter(number, payer, "cancelled", outcome.model, outcome.usage, outcome.price)
        self._flights.pop(id, None)

    def let_go(self, id: CallId) -> None:
        """Nothing more will be told of it. If it was never sent, as when over budget, it leaves no trace."""
        if self._flights.pop(id, None) is not None:
            self._lose_if_sent(id)

    # ── money ──

    def charge(self, *, model: str, usage: TokenUsage, price: Price, payer: Payer) -> None:
        """Count what was used outside any call, such as embeddings."""
        now = self._now()
        with self._file.transaction():
            number = self._insert(CallId(f"charged/{uuid4()}"), "charged", "", payer, model, now, now)
            self._enter(number, payer, "charged", model, usage, price)

    def usage(self, *, by: UsageBy = "model", since: str = "") -> tuple[UsageRow, ...]:
        """What was used, summed up; `since` a day or time, UTC, ISO 8601. Raises `UserError`."""
        return usage_book.usage_rows(self._file, by, since)

    def latency(self, *, since: str = "") -> tuple[LatencyRow, ...]:
        """How long models took and how often they failed; `since` as for `usage`. Raises `UserError`."""
        return usage_book.latency_rows(self._file, since)

    def policy_ledger(self, payer: Payer, limits: Sequence[Limit]) -> policy.BudgetLedger:
        """What these parties used of what is limited, as `policy.reserve` reads it; nothing is held in it."""
        return usage_book.totals(self._file, payer, limits, self._clock().astimezone(UTC).date())

    # ── what else is remembered ──

    def cached(self, request_hash: str, model: str) -> ModelAnswer | None:
        """The answer an equal request got from this first model of a route; it costs and uses nothing now."""
        row = self._file.row(
            "SELECT call.id FROM cached JOIN call ON call.number = cached.call"
            " WHERE cached.request_hash = ? AND cached.model = ?",
            *(request_hash, model),
        )
        if row is None:
            return None
        kept = read_answer(self._file, row[0], _NOTHING, _FREE)
        return replace(kept, attempts=(), source="cache", milliseconds=0)

    def keep_probe(self, model: ModelName, probed: ProbeResult) -> None:
        """Remember what a model showed that it can do."""
        self._file.change(
            "INSERT OR REPLACE INTO probe VALUES (?, ?, ?, ?)", str(model), probed.tools, probed.schema, probed.at
        )

    def probes(self) -> Mapping[ModelName, ProbeResult]:
        """What every model that was tried can do."""
        rows = self._file.rows("SELECT model, tools, schema, at FROM probe ORDER BY model")
        return {
            ModelName.parse(model): ProbeResult(tools=bool(tools), schema=bool(schema), at=at)
            for model, tools, schema, at in rows
        }

    # ── within ──

    def _stands(self, call: ModelCall, state: str, sent: Sequence[Any]) -> CallStanding:
        """How a call with a record stands."""
        if state in ("answered", "cancelled"):
            return read_outcome(self._file, call.id)
        if state == "sent":
            self._lose_if_sent(call.id)
        return None if state == "failed" or call.if_unknown == "again" else SentCall.of(sent)

    def _lose_if_sent(self, id: CallId) -> None:
        with self._file.transaction():
            row = self._file.row(f"SELECT {_SENT}, {_ESTIMATE} FROM call WHERE state = 'sent' AND id = ?", id)
            if row is not None:
                self._lose(row)

    def _lose(self, row: Sequence[Any]) -> None:
        """What was sent is unknown from now on, and counted at its estimate."""
        sent, (number, input_tokens, output_tokens, amount, currency) = SentCall.of(row[:6]), row[6:]
        usage = TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens, is_estimate=True)
        price = usage_book.read_price(amount, currency, "it was sent and its answer is unknown")
        self._file.change("UPDATE call SET state = 'unknown' WHERE number = ?", number)
        self._enter(number, self._payer(number), "unknown", sent.model, usage, price, at=sent.sent_at)

    def _end(
        self, id: CallId, state: str, model: str, attempts: Sequence[FailedAttempt], answer: ModelAnswer | None = None
    ) -> tuple[int, Payer]:
        """The number and payer of a call that ends now, with its failed attempts in the book."""
        row = self._file.row("SELECT number, state FROM call WHERE id = ?", id)
        if row is None:
            # It ends without having been sent, as one that the cache answers.
            begun = self._flight(id)
            row = self._insert(id, "sent", begun.request_hash, begun.payer, model, begun.begun_at), "sent"
        number, before = row
        if before not in ("sent", "unknown"):
            raise Defect(f"Call {id!r} was {before} and cannot be {state}.")
        self._file.change(
            "UPDATE call SET state = ?, model = coalesce(nullif(?, ''), model), attempts = ?, ended_at = ?,"
            " source = ?, milliseconds = ?, reason = ? WHERE number = ?",
            *(state, model, call_records.attempts_json(attempts, self._mask), self._now()),
            *((answer.source, answer.milliseconds, answer.reason) if answer is not None else ("", 0, "")),
            number,
        )
        flight = self._flights.get(id)
        payer = flight.payer if flight is not None else self._payer(number)
        if before == "unknown":
            usage_book.take_back_unknown(self._file, number, payer)
        charged = list(flight.charged) if flight is not None else []
        for attempt in attempts:
            if _print(attempt) in charged:
                charged.remove(_print(attempt))
            else:
                self._enter_attempt(number, payer, attempt)
        return number, payer

    def _insert(
        self, id: CallId, state: str, request_hash: str, payer: Payer, model: str, begun_at: str, ended_at: str = ""
    ) -> int:
        self._file.change(
            "INSERT INTO call (id, request_hash, state, run, step, role, person, team, model, begun_at, ended_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(id, request_hash, state, *astuple(payer), model, begun_at, ended_at),
        )
        return self._found(id)[0]

    def _enter(
        self, call: int, payer: Payer, kind: Kind, model: str, usage: TokenUsage, price: Price, at: str = ""
    ) -> None:
        usage_book.enter(self._file, call, payer, kind, model, at or self._now(), usage, price)

    def _enter_attempt(self, number: int, payer: Payer, attempt: FailedAttempt) -> None:
        if attempt.usage is not None:
            price = self._price_of(attempt.model, attempt.usage)
            self._enter(number, payer, "failed", attempt.model, attempt.usage, price)

    def _flight(self, id: CallId) -> OpenCall:
        flight = self._flights.get(id)
        if flight is None:
            raise Defect(f"Call {id!r} was not begun.")
        return flight

    def _found(self, id: CallId) -> tuple[int, Payer]:
        row = self._file.row("SELECT number FROM call WHERE id = ?", id)
        if row is None:
            raise Defect(f"Call {id!r} was never sent.")
        return row[0], self._payer(row[0])

    def _payer(self, number: int) -> Payer:
        ((run, step, role, person, team),) = self._file.rows(
            "SELECT run, step, role, person, team FROM call WHERE number = ?", number
        )
        return Payer(run=run, step=step, role=role, person=person, team=team)

    def _now(self) -> str:
        return usage_book.written_time(self._clock())


def _print(attempt: FailedAttempt) -> FailedAttempt:
    """Tells attempts apart; what they say may have been masked in between."""
    return replace(attempt, detail="")
