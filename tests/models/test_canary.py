"""Two keys are planted and everything is run: they are found in the gateway, and nowhere else.

One key comes in the environment of every command, the other was stored with `set-key`. The provider repeats whatever
key it was sent in its error messages. What commands say is written to files, which are searched like all the others.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import signal
import subprocess
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import anyio
import openai
import pytest

from cellwright.errors import CellwrightError
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch, running_pid
from cellwright.models.config.keys import key_variables
from cellwright.models.gateway.openai_access import read_address
from cellwright.testing import Fault, FaultKind, ProviderProcess, Say
from tests.conftest import notebook_source
from tests.models.secret_traces import Look, adopting, family, look_into, traces, traces_in_files
from tests.models.testbed import a_call, eventually
from tests.sampling import some

CELLWRIGHT: Final = Path(sys.executable).with_name("cellwright")
HANDED_OVER: Final = f"sk-proj-{secrets.token_hex(24)}"
STORED: Final = f"sk-kept/{secrets.token_hex(24)}"
KEYS: Final = (HANDED_OVER, STORED)
SECONDS: Final = 240

CONFIGURATION: Final = """
[tiers]
smart = ["openai:gpt-5-mini", "stored:one"]
[endpoints.openai]
kind = "openai-chat"
base_url = "{base_url}"
key = "required"
local = false
[endpoints.stored]
kind = "openai-chat"
base_url = "{base_url}"
key = "required"
local = false
"""

CURIOUS_CELL: Final = """
import os, pathlib, time
print(dict(os.environ))
for name in ("environ", "cmdline"):
    for process in pathlib.Path("/proc").glob(f"[0-9]*/{name}"):
        try:
            print(process, process.read_bytes())
        except OSError as error:
            print(process, error)
pathlib.Path("here").write_text("the kernel runs")
while not pathlib.Path("go").exists():
    time.sleep(0.01)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody whose shell exports a key."""

    folder: Path
    provider: ProviderProcess

    @property
    def home(self) -> Path:
        return self.folder / "state"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @contextmanager
    def running(self, *words: str | Path, typed: str = "", code: int = 0) -> Generator[subprocess.Popen[str]]:
        """A command while it runs; what it says goes to files called after its first two words."""
        place = self.folder / "said" / "-".join(str(word).strip("-") for word in words[:2])
        held = key_variables(os.environ)
        environment = {name: value for name, value in os.environ.items() if name not in held and "XDG" not in name}
        environment |= {"CELLWRIGHT_HOME": str(self.home), "HOME": str(self.folder), "NO_COLOR": "1"}
        environment |= {"TMPDIR": str(self.folder / "temporary"), "OPENAI_API_KEY": HANDED_OVER}
        with (
            place.with_suffix(".out").open("a") as out,
            place.with_suffix(".err").open("a") as err,
            subprocess.Popen(
                [CELLWRIGHT, *words], env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True
            ) as process,
        ):
            try:
                assert process.stdin is not None
                process.stdin.write(typed)
                process.stdin.close()
                yield process
                assert process.wait(SECONDS) == code, place.with_suffix(".err").read_text()
            finally:
                process.kill()

    def run(self, *words: str | Path, typed: str = "", code: int = 0) -> None:
        """A command from beginning to end."""
        with self.running(*words, typed=typed, code=code):
            pass

    def note(self, name: str, text: str) -> None:
        """Keep what a caller was told where it is searched too."""
        (self.folder / "said" / name).write_text(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Everything that was run, and what was found while it ran."""

    is_whole: bool
    """With a notebook in its cage, and with commands that ask much."""
    person: Person
    others: Look
    """Every process that came of it but the gateway."""
    gateway: Look
    control: Look
    """A process that was given both keys."""


@pytest.fixture(scope="module", params=some([False, True], 1), ids=["short", "whole"])
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Day]:
    folder, is_whole = tmp_path_factory.mktemp("canary"), request.param
    with adopting(), ProviderProcess.running() as provider:
        person = Person(folder=folder, provider=provider)
        settle(person)
        bystanders = family(os.getpid())
        try:
            person.run("models", "set-key", "stored", "--stdin", "--file", "--json", typed=STORED)
            others, gateway = look_while_all_runs(person, bystanders, is_whole=is_whole)
            with somebody_with_both_keys() as pid:
                control = look_into([pid], KEYS)
            ask_by_the_client(person)
            ask_by_the_endpoint(person)
            if is_whole:
                use_the_commands(person)
            yield Day(is_whole=is_whole, person=person, others=others, gateway=gateway, control=control)
        finally:
            end_what_is_left(family(os.getpid()) - bystanders)


def test_the_look_is_live(day: Day) -> None:
    (forms,) = day.control.found.values()
    assert {"memory: first half", "memory: second half"} <= set(forms)
    if os.geteuid() == 0:
        (forms,) = day.gateway.found.values()
        assert {form.partition(": ")[0] for form in forms} == {"memory"}
    else:
        assert list(day.gateway.closed) and not day.gateway.seen


def test_a_key_is_found_in_whatever_form_it_is_in() -> None:
    header = f"Bearer {STORED}"
    shapes = {
        "plain": header.encode(),
        "turned round": header[::-1].encode(),
        "base64": base64.b64encode(header.encode()),
        "shifted base64": base64.b64encode(f"-{header}".encode()),
        "url": urlencode({"key": STORED}).encode(),
        "hex": header.encode().hex().encode(),
        "with an emoji beside it": f"{header} 🔑".encode("utf-32-le"),
        "cut short": header.encode()[:-4],
    }
    assert [name for name, shape in shapes.items() if not traces(shape, KEYS)] == []
    assert traces(b"nothing of the kind", KEYS) == []


def test_the_provider_was_sent_both_keys(day: Day) -> None:
    assert {request.credential for request in day.person.provider.requests} == set(KEYS)


def test_no_process_but_the_gateway_holds_a_key(day: Day) -> None:
    assert day.others.found == {}
    names = " | ".join(day.others.seen.values())
    expected = ("gateway start", "models test", *(("notebook run", "zygote") if day.is_whole else ()))
    assert all(words in names for words in expected), names
    # Two doors; a third, a zygote, and what is in the cage: for anyone but root its first process is closed.
    assert len(day.others.seen) + len(day.others.closed) >= (6 if day.is_whole else 2)
    assert os.geteuid() != 0 or day.others.closed == {}


def test_no_file_but_the_one_for_keys_holds_a_key_and_no_command_says_one(day: Day) -> None:
    kept = day.person.home / "keys.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert json.loads(kept.read_text()) == {"stored": STORED}
    searched = {path.name for path in day.person.folder.rglob("*") if path.is_file() and path.stat().st_size}
    assert searched >= {"gateway.log", "models.db", "notebook.py", "models-test.out"}
    assert not day.is_whole or searched >= {"notebook-run.out", "doctor-json.out", "models-usage.out"}
    assert traces_in_files(day.person.folder, KEYS, besides=[kept]) == {}


def test_refusals_that_repeat_the_key_are_told_without_it(day: Day) -> None:
    by_client, by_endpoint = (
        (day.person.folder / "said" / f"{name}.txt").read_text() for name in ("client", "endpoint")
    )
    assert "unauthorised (HTTP 401: the key was refused)" in by_client
    assert "unauthorised (HTTP 401: the key was refused)" in by_endpoint
    for provider in ("openai", "stored"):
        assert f"rejected (HTTP 400: Incorrect API key provided: [masked {provider} key]" in by_client
        assert f"HTTP 500: Incorrect API key provided: [masked {provider} key]" in by_client
    assert "rejected (HTTP 400: Incorrect API key provided: [masked openai key]" in by_endpoint


# ── what is run ──


def settle(person: Person) -> None:
    for name in ("said", "temporary", "state", "project"):
        (person.folder / name).mkdir(mode=0o700)
    base_url = person.provider.base_url("openai-chat")
    (person.home / "models.toml").write_text(CONFIGURATION.format(base_url=base_url))
    (person.project / "notebook.py").write_text(notebook_source(CURIOUS_CELL.strip()))


def look_while_all_runs(person: Person, bystanders: set[int], *, is_whole: bool) -> tuple[Look, Look]:
    """A door that stays, one that waits for a model, and a notebook in its cage: all at once, and looked into."""
    provider = person.provider
    provider.script(Fault("slow-first-byte"))
    notebook = person.running("notebook", "run", person.project / "notebook.py", "--files", "direct")
    with (
        person.running("gateway", "start", "--stay", code=130) as staying,
        person.running("models", "test", "openai:gpt-5-mini") as waiting,
        notebook if is_whole else nullcontext(),
    ):
        provider.wait_until(requests=1, timeout_seconds=SECONDS)
        if is_whole:
            eventually((person.project / "here").exists, seconds=SECONDS)
        eventually((person.folder / "said" / "gateway-start.out").read_text, seconds=SECONDS)
        pid = running_pid(person.home)
        assert pid is not None
        others = look_into(family(os.getpid()) - bystanders - {pid}, KEYS)
        gateway = look_into([pid], KEYS)
        (person.project / "go").touch()
        eventually(lambda: provider.release() or waiting.poll() is not None, seconds=SECONDS)
        staying.send_signal(signal.SIGINT)
    return others, gateway


def ask_by_the_client(person: Person) -> None:
    """Calls that succeed, and calls refused with the key in the refusal, streamed and whole."""
    script = [
        Say("well"),
        Say("well"),
        *(refusal(kind, key) for kind in ("unauthorised", "bad-request") for key in KEYS),
    ]
    script += [Fault("error-event", message=f"Incorrect API key provided: {key}") for key in KEYS]
    told: list[str] = []

    async def ask(models: Models, number: int) -> None:
        model = ("openai:gpt-5-mini", "stored:one")[number % 2]
        try:
            async with models.stream(a_call("Hello.", id=f"run/{number}", model=model, stream=number > 3)) as items:
                told.extend([repr(item) async for item in items])
        except CellwrightError as error:
            told.append(f"{error!r} {error.message} {error.hint}")
            told.extend(traceback.format_exception(error))

    async def ask_all() -> None:
        async with Models.open(person.home, launch=GatewayLaunch(home=person.home, command=("/bin/false",))) as models:
            for number, answer in enumerate(script):
                person.provider.script(answer)
                with anyio.fail_after(SECONDS):
                    await ask(models, number)
            told.extend(map(repr, (await models.listed(), await models.providers(), await models.usage("run"))))

    anyio.run(ask_all)
    person.note("client.txt", "\n".join(told))


def ask_by_the_endpoint(person: Person) -> None:
    """The same as any other program asks."""
    address = read_address(person.home)
    assert address is not None
    told: list[str] = []
    with openai.OpenAI(base_url=address.base_url, api_key=address.token, max_retries=0) as client:
        for answer in (Say("well"), refusal("unauthorised", HANDED_OVER), refusal("bad-request", HANDED_OVER)):
            person.provider.script(answer)
            try:
                completion = client.chat.completions.create(
                    model="openai:gpt-5-mini", messages=[{"role": "user", "content": "Hello."}], timeout=SECONDS
                )
                told.append(completion.model_dump_json())
            except openai.APIStatusError as error:
                told += [str(error), error.response.text, str(error.response.headers)]
    person.note("endpoint.txt", "\n".join(told))


def use_the_commands(person: Person) -> None:
    person.provider.script(refusal("unauthorised", HANDED_OVER))
    with (
        person.running("models", "test", "openai:gpt-5-mini", "--json", code=1),
        person.running("models", "usage", "--by", "run", "--json"),
        person.running("doctor", "--json"),
    ):
        pass
    person.run("gateway", "stop")


def refusal(kind: FaultKind, key: str) -> Fault:
    return Fault(kind, message=f"Incorrect API key provided: {key}. You can find your API key in your account.")


@contextmanager
def somebody_with_both_keys() -> Generator[int]:
    """What the look must find."""
    program = "import sys; keys = sys.stdin.readline(); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(" ".join(KEYS).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def end_what_is_left(adopted: set[int]) -> None:
    """Orphans became our children: whoever should have ended long ago is ended, and none is left as a zombie."""
    for pid in adopted:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
