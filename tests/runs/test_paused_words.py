"""What a person reads of a pause, without ids nobody can use."""

from __future__ import annotations

import pytest

from cellwright.agents.steering import RESUME, pause_question
from cellwright.journal.events import Event, QuestionAnswered, QuestionAsked
from cellwright.runs.views.progress import progress_line
from cellwright.runs.views.run_view import RunView

ID = "77b3b608181e6c23/agent:5#28"
PAUSE = pause_question("root")


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (
            QuestionAsked(workflow="r/agent:5", question=ID, topic=PAUSE.topic, text=PAUSE.text),
            "Paused by root. It waits until somebody lets it go on.",
        ),
        (QuestionAnswered(question=ID, answer=RESUME, by="ann"), "ann let it go on"),
        (QuestionAsked(workflow="r", question="r#3", topic="plain", text="Which?"), "asks r#3: Which?"),
        (QuestionAnswered(question="r#3", answer="this", by="ann"), "ann answered r#3"),
    ],
)
def test_a_pause_is_told_in_words_and_a_question_with_its_id(event: Event, says: str) -> None:
    assert progress_line(RunView(run="r"), event) == says
