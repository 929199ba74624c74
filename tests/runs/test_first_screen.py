"""What the first screen of a report says: read from an answer or told, nothing twice, and how far to trust it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from cellwright.runs.deliver.delivery import (
    DeliveredCheck,
    DeliveredFinding,
    Delivery,
    ToldReport,
    delivery_json,
    parse_delivery,
)
from cellwright.runs.deliver.first_screen import rest_of_answer, told_by_answer, with_told, with_trust
from cellwright.runs.deliver.report.markdown import report_markdown
from cellwright.runs.deliver.report.report import report_html
from cellwright.runs.deliver.report.text import bar_lines, report_text

ANSWER = """\
Revenue fell by **12 %** (approx. 3.4 M EUR) in Q3, nearly all of it in *Bergen*. Orders fell; prices did not.

What else was found:

- `stores` closed in Bergen
- fewer visits vs. Q2
- regular customers stayed

| region | change |
|---|---|
| Bergen | -3.1 |

Revenue fell by 12 % (approx. 3.4 M EUR) in Q3, nearly all of it in Bergen."""


def delivered(answer: str = ANSWER, **more: Any) -> Delivery:
    delivery = Delivery(status="done", goal="Why?", title="Revenue", answer=answer, **more)
    return with_told(delivery, told_by_answer(answer, "Revenue"))


def check(*, has_passed: bool = True) -> DeliveredCheck:
    return DeliveredCheck(name="test_sum", says="Sums agree.", has_passed=has_passed)


# ── from an answer ──


def test_the_first_sentence_is_the_headline_and_three_others_are_findings_without_markup() -> None:
    told = told_by_answer(ANSWER, "Revenue")
    assert told.headline == "Revenue fell by 12 % (approx. 3.4 M EUR) in Q3, nearly all of it in Bergen."
    assert [finding.says for finding in told.findings] == [
        "Orders fell; prices did not.", "stores closed in Bergen", "fewer visits vs. Q2",
    ]  # fmt: skip


def test_what_the_first_screen_says_is_not_said_again() -> None:
    assert rest_of_answer(delivered()) == snapshot("""\
What else was found:

- regular customers stayed

| region | change |
|---|---|
| Bergen | -3.1 |\
""")
    assert rest_of_answer(replace(delivered(), headline="")) == ANSWER


def test_nothing_is_told_before_the_sentence_it_rests_on() -> None:
    long = "Software shares did worse: in the 25 months in which private employment fell, between August 2007 and "
    long += "February 2010, Microsoft and Google returned -0.24 % a month on average, and the three others 1.50 %, "
    answer = (
        f"{long}a gap of 1.74 points a month, as the table below shows in full. It is not distinguishable from chance."
    )
    told = told_by_answer(answer, "Shares")
    assert (told.headline, told.findings) == ("Software shares did worse.", ())
    assert rest_of_answer(delivered(answer)) == answer


@pytest.mark.parametrize(
    ("answer", "headline", "rest"),
    [
        ("42", "42", ""),
        ("@mean[34.89]", "@mean[34.89]", ""),
        ("", "", ""),
        ("```\n{}\n```", "Title", "```\n{}\n```"),
        ("word " * 60, "Title", ("word " * 60).strip()),
        ("# Answer\n\nIt is 5.", "It is 5.", ""),
        (f"It is 5 ({'n = 7, ' * 30}p = 0.1).", "It is 5.", f"It is 5 ({'n = 7, ' * 30}p = 0.1)."),
        ("It is 5. It is **5**.", "It is 5.", ""),
        ("No. 5 is U.S. made, e.g. Five.", "No. 5 is U.S. made, e.g. Five.", ""),
        ("1. one\n   - deep\n2. two", "Title", "1. one\n   - deep\n2. two"),
    ],
)
def test_answers_of_every_form_have_a_headline_and_nothing_is_lost(answer: str, headline: str, rest: str) -> None:
    delivery = with_told(Delivery(status="done", goal="g", answer=answer), told_by_answer(answer, "Title"))
    assert (delivery.headline, rest_of_answer(delivery)) == (headline, rest)


# ── told ──


def test_what_is_told_is_bounded_and_said_once() -> None:
    many = tuple(DeliveredFinding(says=f"Number {n}.", bars=(("a", float("nan")), ("b\x1b", 1.0))) for n in range(9))
    told = ToldReport(
        headline="It\nfell.", findings=(DeliveredFinding(says="It fell"), many[0], *many), readings=("a", "a", "")
    )
    delivery = with_told(Delivery(status="done", goal="g"), told)
    assert delivery.headline == "It fell."
    assert [finding.says for finding in delivery.findings] == ["Number 0.", "Number 1.", "Number 2."]
    assert delivery.findings[0].bars == (("b", 1.0),)
    assert delivery.readings == ("a",)


# ── trust ──


@pytest.mark.parametrize(
    ("delivery", "said"),
    [
        (delivered(checks=(check(),) * 12, proof="p", caveats=("a", "b")),
         "12 checks passed in a fresh environment; 2 caveats."),
        (delivered(proof="p"), "It ran without an error in a fresh environment."),
        (delivered(checks=(check(),)), "1 check passed; not proven."),
        (replace(delivered(checks=(check(), check(has_passed=False)), problems=("x",)), status="partial"),
         "1 of 2 checks passed; not proven; 1 problem."),
        (replace(delivered(proof="p"), trust="Half of the rows have no price."), "Half of the rows have no price."),
        (replace(delivered(), status="partial", trust="Half of the rows."), "Not proven. Half of the rows."),
        (Delivery(status="failed", goal="g"), ""),
    ],
)  # fmt: skip
def test_how_far_to_trust_it_follows_from_checks_proof_and_caveats(delivery: Delivery, said: str) -> None:
    assert with_trust(delivery).trust == said


# ── stored ──


def test_a_delivery_stored_before_there_were_headlines_still_opens() -> None:
    stored = json.loads(json.dumps(delivery_json(delivered(checks=(check(),)))))
    for field in ("headline", "findings", "picture", "trust", "readings"):
        del stored[field]
    old = parse_delivery(stored)
    assert old == Delivery(status="done", goal="Why?", title="Revenue", answer=ANSWER, checks=(check(),))
    page = report_html(old)
    assert "<h1>Revenue</h1>" in page and "<strong>12 %</strong>" in page and 'class="first' not in page
    assert report_text(old).startswith("Revenue fell by **12 %**")


def test_a_delivery_is_stored_with_its_first_screen() -> None:
    told = delivered()
    told = replace(told, findings=(replace(told.findings[0], bars=(("Bergen", -3.1),), cell="bergen"),))
    assert parse_delivery(json.loads(json.dumps(delivery_json(told)))) == told


# ── in words ──


def test_the_terminal_says_headline_findings_trust_and_files_in_twelve_lines() -> None:
    bars = (("Bergen", -3.1), ("Oslo", -0.31))
    delivery = with_trust(delivered(checks=(check(),), proof="/x/a.proof.json", notebook="/x/a.py", seconds=61))
    first = replace(delivery.findings[0], bars=bars)
    delivery = replace(delivery, findings=(first, *delivery.findings[1:]), report="/x/a.report.html")
    assert report_text(delivery) == snapshot("""\
Revenue fell by 12 % (approx. 3.4 M EUR) in Q3, nearly all of it in Bergen.
- Orders fell; prices did not.
    Bergen  ████████████████████████  -3.1
    Oslo    ██▍                       -0.31
- stores closed in Bergen
- fewer visits vs. Q2

1 check passed in a fresh environment.
notebook: /x/a.py
report: /x/a.report.html
proof: /x/a.proof.json
cost $0.00 · time 1 min 01 s
""")
    crowded = replace(delivery, status="partial", why="Out of budget.", findings=(replace(first, bars=bars * 4),) * 3)
    assert len(report_text(crowded).splitlines()) <= 12


def test_what_else_was_answered_is_said_where_there_is_room_for_it() -> None:
    text = report_text(delivered("It is 5.\n\n```\nx = 5\n```"))
    assert text.startswith("It is 5.\n```\nx = 5\n```\n")


def test_an_answer_of_which_the_first_screen_says_a_part_only_is_there_whole_and_in_order() -> None:
    ranking = "; ".join(f"sector {number} fell {number}.5 % and was back in May 20{number}" for number in range(10, 30))
    answer = f"Construction lost most. All of them, by share lost: {ranking}.\n\nThe file ends in 2015."
    text = report_text(delivered(answer))
    assert text.startswith(f"{answer}\n\ncost ")
    long = f"Of all sectors, {ranking}. The file ends in 2015."
    assert report_text(delivered(long)).startswith(f"{delivered(long).headline}\n\n{long}\n\ncost ")
    stopped = replace(delivered(long), status="partial", why="Out of budget.")
    assert report_text(stopped).splitlines()[2:4] == ["Partly done: Out of budget.", long]
    endless = f"Construction lost most. All: {ranking * 5}. The file ends in 2015."
    assert report_text(delivered(endless)).startswith("Construction lost most.\n- The file ends in 2015.\n\ncost ")


def test_numbers_are_drawn_as_bars_or_in_one_line() -> None:
    assert bar_lines([("a", 1.0), ("long label", 2.0)], 2) == [
        "a           ████████████              1",
        "long label  ████████████████████████  2",
    ]
    assert bar_lines([("Jan", 1.0), ("Feb", 3.5), ("Mar", 1200.0)], 1) == ["Jan 1 ▁▁█ Mar 1,200"]
    assert bar_lines([("a", 0.0)], 1) == ["a                            0"]
    assert bar_lines([("a", 1.0), ("b", 1.0)], 0) == []


def test_the_markdown_says_everything_once_and_names_no_folder() -> None:
    delivery = with_trust(
        delivered(
            summary="By region.",
            assumptions=("EUR.",),
            caveats=("No September.",),
            checks=(check(),),
            notebook="/home/ada/a.py",
            proof="/home/ada/a.proof.json",
        )
    )
    first = replace(delivery.findings[0], statistics="p = 0.01")
    text = report_markdown(
        replace(delivery, findings=(first, *delivery.findings[1:]), readings=("EUR.", "Q3 is late."))
    )
    assert text == snapshot("""\
# Revenue fell by 12 % (approx. 3.4 M EUR) in Q3, nearly all of it in Bergen.

> Why?

1 check passed in a fresh environment; 1 caveat.

## Findings

- Orders fell; prices did not. (p = 0.01)
- stores closed in Bergen
- fewer visits vs. Q2

What else was found:

- regular customers stayed

| region | change |
|---|---|
| Bergen | -3.1 |

## How the question was read

- EUR.
- Q3 is late.

## Data quality and caveats

- No September.

## Method

By region.

## Checks

- passed: Sums agree.

## Proof and files

- notebook: a.py
- proof: a.proof.json
- cost: $0.00
- time: 0 s
""")
