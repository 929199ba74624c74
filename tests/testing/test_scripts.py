"""Scripts as JSON."""

from __future__ import annotations

import pytest

from cellwright.errors import UserError
from cellwright.testing import CallTool, CallTools, Fault, Say, SayJson, ScriptFile, Tokens, read_script
from cellwright.testing.scripts import write_script


def test_what_is_written_is_read_back() -> None:
    script = ScriptFile(
        line=(
            Say("Grüße", chunks=3, thinking="hm", stop="length", tokens=Tokens(cache_read_tokens=1), chunk_seconds=0.5),
            CallTool("search", {"query": ["x", {"y": None}]}, text="Look.", id="c1"),
            CallTool("search", '{"broken'),
            CallTools((CallTool("a"), CallTool("b", {"n": 1})), text="Two."),
            SayJson([1, {"a": None}]),
            Fault("stall", answer=CallTool("a"), after_chunks=1, seconds=2),
            Fault("wrong-usage", reported=Tokens(output_tokens=9)),
        ),
        always=(Say("tick"),),
    )
    assert read_script(write_script(script)) == script


def test_a_script_by_hand_is_short() -> None:
    text = '[{"does": "say", "text": "Hello."}, {"does": "fault", "kind": "rate-limited", "retry_after_seconds": 2}]'
    assert read_script(text) == ScriptFile(line=(Say("Hello."), Fault("rate-limited", retry_after_seconds=2)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "The script is no JSON"),
        ('"x"', "the script: Input should be a valid dictionary"),
        ('{"lines": []}', "lines.* Input should be 'line' or 'always'"),
        ('["x"]', "line.0: Input should be a valid dictionary"),
        ('[{"does": "sing"}]', "line.0: Input tag 'sing' .*'say', 'call-tool'"),
        ('[{"does": "say", "text": "x", "txt": 1}]', "line.0.say.txt: Unexpected keyword argument"),
        ('[{"does": "say"}]', "line.0.say.text: Field required"),
        ('[{"does": "fault", "kind": "explode"}]', "line.0.fault.kind: Input should be 'bad-request'"),
        ('[{"does": "say", "text": "x", "tokens": {"x": 1}}]', "tokens.x: Unexpected keyword argument"),
    ],
)
def test_a_mistake_in_a_script_is_named(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read_script(text)
