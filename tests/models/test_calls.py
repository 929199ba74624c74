"""What names a call: the same after a crash, another for another request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import OutputSchema, Request, call_id


def _request(text: str = "why?", **changes: Any) -> Request:
    return Request(messages=[ModelRequest(parts=[UserPromptPart(text)])], **changes)


def test_the_time_at_which_a_message_was_made_does_not_count() -> None:
    then = UserPromptPart("why?", timestamp=datetime(2001, 1, 1, tzinfo=UTC))
    older = Request(messages=[ModelRequest(parts=[then], run_id="another process")])
    assert _request().hash == older.hash
    assert call_id(run="r", step="s", request=_request()) == call_id(run="r", step="s", request=older)


def test_everything_the_model_reads_counts() -> None:
    tool = ToolDefinition(name="look", parameters_json_schema={"type": "object"})
    requests = [
        _request(),
        _request("why not?"),
        _request(tools=[tool]),
        _request(output=OutputSchema(name="answer", schema={"type": "object"})),
        _request(settings={"temperature": 0}),
    ]
    assert len({request.hash for request in requests}) == len(requests)


def test_a_tools_argument_called_like_a_stamp_counts() -> None:
    def asked(timestamp: str) -> Request:
        call = ToolCallPart("look", {"timestamp": timestamp, "run_id": "x"}, tool_call_id="1")
        return Request(messages=[ModelResponse(parts=[call])])

    assert asked("monday").hash != asked("tuesday").hash
