"""Texts as vectors, by the first model of a choice that answers."""

from __future__ import annotations

from collections.abc import Sequence

from cellwright.errors import CellwrightError, UserError
from cellwright.models.attempts import Exhausted
from cellwright.models.calls import Attempt, Choice, Payer, Usage
from cellwright.models.estimating import BYTES_PER_TOKEN
from cellwright.models.failing import failure_of
from cellwright.models.gateway.desk import Desk
from cellwright.models.ledger import Ledger
from cellwright.models.routing import Question, route


async def embed(desk: Desk, ledger: Ledger, texts: Sequence[str], choice: Choice) -> list[list[float]]:
    """One vector per text. What it used is estimated: providers of vectors seldom say. Raises where nobody answers."""
    question = Question(private=choice.private, named=bool(choice.models))
    chosen = route(question, await desk.candidates(choice))
    if not chosen.order:
        raise chosen.error()
    attempts: list[Attempt] = []
    for name in chosen.order:
        try:
            vectors = await desk.embed(name, texts)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `failure_of` knows what it means
            failing, detail, _ = failure_of(error)
            if isinstance(error, CellwrightError):
                failing, detail = "not-ready", error.message
            attempts.append(Attempt(model=str(name), failing=failing, detail=desk.mask(detail)))
            continue
        usage = Usage(input_tokens=sum(-(-len(text.encode()) // BYTES_PER_TOKEN) for text in texts), is_estimate=True)
        ledger.charge(model=str(name), usage=usage, price=desk.price_of(name, usage), payer=Payer())
        return vectors
    raise Exhausted(attempts=tuple(attempts)).error()
