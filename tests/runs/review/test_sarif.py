"""What speaks against a notebook, for code hosts and CI."""

from __future__ import annotations

from cellwright.runs.deliver.delivery import DeliveredCheck, Delivery
from cellwright.runs.review.findings import Finding, JudgedFinding, ReviewQuestion
from cellwright.runs.review.sarif import review_sarif

WRONG = JudgedFinding(
    finding=Finding(claim="It is 580.", found="It is 290.", shows="assert total == 290"),
    standing="shown",
    error="AssertionError",
)
DOUBT = JudgedFinding(finding=Finding(claim="A", found="B", shows="assert True"), standing="not shown")


def test_each_thing_that_speaks_against_a_notebook_is_one_result_at_its_address() -> None:
    delivery = Delivery(
        status="partial",
        goal="",
        reviewed=(WRONG, DOUBT),
        problems=(WRONG.fails, "Cell 3 failed."),
        checks=(DeliveredCheck(name="test_x", says="", has_passed=True, detail="notices nothing", is_hollow=True),),
        questions=(
            ReviewQuestion(kind="sentinel", says="-999 among ages"),
            ReviewQuestion(kind="sentinel", says="0 among ages", settled="cell ages"),
        ),
    )
    log = review_sarif(delivery, "work/sales.py")
    [run] = log["runs"]
    assert log["version"] == "2.1.0"
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("shown-wrong", "error"),
        ("does-not-run", "error"),
        ("hollow-test", "warning"),
        ("open-question", "warning"),
    ]
    assert "assert total == 290" in run["results"][0]["message"]["text"]
    [place] = run["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "work/sales.py"
    assert {each["ruleId"] for each in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
