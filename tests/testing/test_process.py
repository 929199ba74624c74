"""The server as a process of its own: its books outlive a client that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import openai
import pytest

from cellwright.errors import UserError
from cellwright.testing import Fault, ProviderProcess, Say, Tokens
from tests.testing.clients import KEY

CLIENT = """
import sys
from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="sk-test", max_retries=0)
for chunk in client.chat.completions.create(model="any", messages=[{"role": "user", "content": "x"}], stream=True):
    print(chunk.choices[0].delta.content, flush=True)
"""


@pytest.mark.slow
def test_a_killed_client_is_charged_for_what_it_got(provider_process: ProviderProcess) -> None:
    provider_process.script(Fault("stall", after_chunks=3))
    command = [sys.executable, "-c", CLIENT, provider_process.base_url("openai-chat")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        while client.stdout.readline() != "three \n":
            pass
        os.kill(client.pid, signal.SIGKILL)
    assert client.returncode == -signal.SIGKILL
    (charge,) = provider_process.charged
    assert (charge.tokens, charge.is_finished) == (Tokens(output_tokens=3), False)
    assert provider_process.requests[0].credential == "sk-test"


def test_a_script_a_release_and_the_books_go_over_http(provider_process: ProviderProcess) -> None:
    provider_process.always(Say("tick"))
    provider_process.script(Fault("slow-first-byte", seconds=0.01, answer=Say("first")))
    with openai.OpenAI(base_url=provider_process.base_url("openai-chat"), api_key=KEY, max_retries=0) as client:
        said = [
            client.chat.completions.create(model="any", messages=[{"role": "user", "content": "x"}]) for _ in range(3)
        ]
    assert [each.choices[0].message.content for each in said] == ["first", "tick", "tick"]
    provider_process.release()
    provider_process.wait_until(requests=3, charges=3, finished=3)
    assert [charge.is_finished for charge in provider_process.charged] == [True] * 3
    assert [received.prompt for received in provider_process.requests] == ["x"] * 3


def test_waiting_for_what_does_not_come_ends(provider_process: ProviderProcess) -> None:
    with pytest.raises(TimeoutError, match=r"0\.05 s"):
        provider_process.wait_until(requests=1, timeout_seconds=0.05)


def test_what_the_process_does_not_understand_is_said(provider_process: ProviderProcess) -> None:
    with pytest.raises(UserError, match="Unknown request: GET /_nothing"):
        provider_process._ask("GET", "/_nothing")
    with pytest.raises(UserError, match="no JSON"):
        provider_process._ask("POST", "/_script", b"{")


def test_the_process_ends_with_the_block() -> None:
    with ProviderProcess.running(honours_idempotency_keys=True) as process:
        assert Path(f"/proc/{process.pid}").exists()
    assert not Path(f"/proc/{process.pid}").exists()


@pytest.mark.slow
def test_a_script_file_is_played_from_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"does": "say", "text": "From a file."}]')
    command = [sys.executable, "-m", "cellwright.testing.provider_server", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        with openai.OpenAI(base_url=f"{address}/openai/v1", api_key=KEY) as client:
            answer = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "x"}])
        process.send_signal(signal.SIGINT)
    assert answer.choices[0].message.content == "From a file."
    assert process.returncode == 130


def test_a_bad_script_file_is_told_on_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"does": "sing"}]')
    command = [sys.executable, "-m", "cellwright.testing.provider_server", "--script", str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "line.0: Input tag 'sing'" in ended.stderr
