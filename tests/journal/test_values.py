"""What people will read of a journal holds no secret: events, questions and errors; what code goes on with is exact."""

from __future__ import annotations

import json
import logging
import urllib.parse
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import UserError
from cellwright.journal.events import Fact
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.log import with_text
from cellwright.journal.names import QuestionId, stream_of
from cellwright.journal.questions import Question
from cellwright.journal.records import Records
from cellwright.journal.values import StepFailed, error_json, masked_json
from cellwright.policy.masking.masker import Masker, Secret
from tests.journal.sixty import KEY
from tests.policy.strategies import PROPERTY
from tests.sampling import every

SECRET = "tr0ub4dor&3-Horse/Battery+Staple"
MASKER = Masker.of([Secret(name="PASSWORD", value=SECRET)], salt=b"a salt for tests")
SPELT: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper case": str.upper,
    "reversed": lambda text: text[::-1],
    "hex": lambda text: text.encode().hex(),
    "url": lambda text: urllib.parse.quote(text, safe=""),
    "json": json.dumps,
    "split over lines": "\n".join,
    "split by blanks": " ".join,
    "first half": lambda text: text[: len(text) // 2],
    "middle": lambda text: text[9:21],
}
texts = st.sampled_from(sorted(SPELT)).map(lambda name: SPELT[name](SECRET))
plain = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("abc é", max_size=5))
bodies = st.recursive(
    st.one_of(texts, plain),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(texts, st.text("xyz", max_size=3)), inner, max_size=3)
    ),
    max_leaves=6,
)


def mask(text: str) -> str:
    return MASKER.mask(text).text


def is_clean(value: object) -> bool:
    return MASKER.find(json.dumps(value, ensure_ascii=False, default=str)) == ()


@PROPERTY
@given(body=bodies)
def test_no_part_of_a_secret_is_left_in_a_body_and_masking_it_again_changes_nothing(body: Any) -> None:
    once = masked_json(body, mask)
    assert is_clean(once)
    assert masked_json(once, mask) == once


@PROPERTY
@given(body=bodies.filter(is_clean))
def test_a_body_without_a_secret_stays_as_it_is(body: Any) -> None:
    assert masked_json(body, mask) == body


@PROPERTY
@given(cut=st.integers(1, len(SECRET) - 1))
def test_a_secret_cut_over_several_texts_is_found_in_the_whole(cut: int) -> None:
    for body in ([SECRET[:cut], SECRET[cut:]], {SECRET[:cut]: SECRET[cut:]}, {"a": [SECRET[:cut]], "": SECRET[cut:]}):
        assert is_clean(masked_json(body, mask))


@PROPERTY
@given(spelt=texts)
def test_every_text_of_an_event_and_of_an_error_is_masked(spelt: str) -> None:
    fact = Fact(topic=spelt, subject=spelt, text=spelt, numbers={spelt: 1.0})
    told = with_text(fact, mask)
    assert isinstance(told, Fact)
    assert is_clean([told.topic, told.subject, told.text, *told.numbers])
    for error in (UserError(f"No {spelt}.", hint=spelt), ValueError(spelt)):
        try:
            raise error
        except Exception as raised:  # noqa: BLE001 - for its traceback
            kept = error_json(raised, mask)
        assert is_clean([kept["message"], kept["hint"], kept["more"]])
        assert MASKER.find(kept["traceback"]) == ()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spelling", every(sorted(SPELT), 3))
async def test_neither_the_questions_nor_the_events_nor_the_errors_of_a_run_keep_a_secret(
    where: str, spelling: str, caplog: pytest.LogCaptureFixture
) -> None:
    spelt = SPELT[spelling](SECRET)

    async def leak() -> None:
        raise ValueError(f"cannot log in with {spelt}")

    async def exact() -> str:
        return spelt

    async def careless(flow: Flow, _: Any) -> list[Any]:
        message = ""
        try:
            await flow.step("leak", leak)
        except StepFailed as error:
            message = error.message
        await flow.tell(Fact(topic="said", subject="x", text=spelt, numbers={spelt: 1}))
        got = await flow.step("exact", exact)
        answer = await flow.ask(Question(text=f"Use {spelt}?", choices=("yes", f"no {spelt}"), body={"with": [spelt]}))
        return [message, got == spelt, answer]

    workflows = [Workflow(name="careless", body=careless)]
    with anyio.fail_after(120), caplog.at_level(logging.DEBUG, "cellwright"):
        async with Journal.open(where, version="1", workflows=workflows, chain_key=KEY, mask=mask) as journal:
            run = await journal.run("careless")
            news = journal.log.growth.next()
            while not (pending := await journal.records.questions.pending(run)):
                await news.wait()
                news = journal.log.growth.next()
            [asked] = pending
            await journal.answer(asked.id, "yes", by="ada")
            message, is_exact, answer = await journal.result(run)
            told = [recorded.json() async for recorded in journal.log.read_all(stream_of(run))]
    assert is_clean([asked.question.text, *asked.question.choices, asked.question.body])
    assert is_clean(told)
    assert (MASKER.find(message), is_exact, answer) == ((), True, "yes")
    assert MASKER.find(caplog.text) == ()


async def test_a_journal_without_a_mask_keeps_what_it_is_given(where: str) -> None:
    async with Records.open(where, chain_key=KEY) as records:
        question = Question(text=SECRET, choices=(SECRET,), body={"a": SECRET})
        await records.questions.open(QuestionId("r#1"), "r", question)
        kept = await records.questions.get("r#1")
    assert kept is not None
    assert kept.question == question
