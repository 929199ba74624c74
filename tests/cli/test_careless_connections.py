"""Whatever is typed at `cellwright data connect` and with `NAME:path`: a sentence and a remedy, the right exit code."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cellwright.data.connections import connections_at
from tests.app.web_services import API_SECRET, ApiServer, api_server
from tests.cli.in_process import run_here
from tests.data.file_stores.servers import (
    CANARY,
    FileServer,
    free_port,
    s3_server,
    sftp_server,
    web_server,
    write_files,
)
from tests.data.shop import broker_client

LAKE = ("--option", "buckets=lake-bucket", "--option", "access_key_id=A")
CRM = ("--kind", "api", "--url", "https://crm.example.org")
PIPED = ("--stdin", "--file")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        yield client.launch.home


@pytest.fixture(scope="module")
def lake() -> Generator[FileServer]:
    with s3_server() as server:
        yield server


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def crm(tmp_path_factory: pytest.TempPathFactory) -> Generator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as server:
        yield server


def given(options: Mapping[str, str]) -> list[str]:
    return [word for key, value in options.items() for word in ("--option", f"{key}={value}")]


def connect(home: Path, *words: str, secret: str = "", code: int = 1) -> dict[str, Any]:
    """What is wrong, as a program reads it."""
    shown = run_here(home, "data", "connect", *words, "--json", *(PIPED if secret else ()), typed=secret, code=code)
    told = json.loads(shown.stdout)
    assert "Traceback" not in shown.stderr
    return told if code == 0 else told["problem"]


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--kind", "s3"), "An s3 connection needs buckets and access_key_id.", "Say --option buckets=… --option acc"),
        (("--kind", "http"), "An http connection needs url.", "Say --url …."),
        (("--kind", "sftp", "--host", "h"), "An sftp connection needs user.", "Say --user …."),
        (("--kind", "smb", "--host", "h", "--user", "u"), "An smb connection needs share.", "--option share=…"),
        (("--kind", "gcs"), "A gcs connection needs bucket.", "--option bucket=…"),
        (("--kind", "azure", "--option", "account=a"), "An azure connection needs container.", "--option container=…"),
        (("--kind", "s3", *LAKE, "--host", "h"), "An s3 connection has no 'host'.", "It has: buckets"),
        (("--kind", "s3", *LAKE, "--rows", "5"), "An s3 connection has no rows.", "Leave --rows out"),
        (("--kind", "s3", *LAKE, "--mask", "a.b"), "no masked columns", "Those are for databases"),
        (("--kind", "http", "--url", "files.example.org"), "'files.example.org' is no address.", "Write https://host"),
        (("--kind", "webdav", "--url", "http://x.example.org"), "in plain text", "tls=off"),
        ((*CRM, "--option", "paths=people"), "'people' is no path.", "Write /path"),
        ((*CRM, "--option", "methods=FETCH"), "'FETCH' is no method here.", "Any of: GET"),
        ((*CRM, "--option", "openapi=crm.yaml"), "is no place of an OpenAPI document", "file:/whole/path"),
        ((*CRM, "--option", "openapi=file:crm.yaml"), "There is no file", "file:PATH"),
        ((*CRM, "--option", "key=hush"), "never an argument", "you will be asked"),
    ],
)
def test_what_cannot_be_meant_is_told_before_anything_is_kept(
    home: Path, words: tuple[str, ...], said: str, hint: str
) -> None:
    shown = run_here(home, "data", "connect", "typed", *words, code=2).stderr
    assert said in shown
    assert hint in shown
    assert "typed" not in connections_at(home)


def test_a_name_that_another_kind_has_is_not_written_over(home: Path) -> None:
    run_here(home, "data", "connect", "taken", *CRM, "--no-secret", "--no-test")
    shown = run_here(home, "data", "connect", "taken", "--kind", "s3", *LAKE, code=2).stderr
    assert "There is a connection 'taken' already, of the kind api: it leads to https://crm.example.org." in shown
    assert "cellwright data forget taken" in shown
    assert connections_at(home)["taken"].kind == "api"
    run_here(home, "data", "forget", "taken")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nolake:sales/a.csv", "There is no file 'nolake:sales/a.csv', and no connection 'nolake'."),
        ("s3://elsewhere/a.csv", "is behind no connection"),
        ("birds:robin", "'birds' is of the kind api: it has no files."),
    ],
)
def test_data_that_no_connection_has_is_told_before_a_run_starts(home: Path, word: str, said: str) -> None:
    run_here(home, "data", "connect", "birds", *CRM, "--no-secret", "--no-test")
    for words in (("run", "how many?", "--data", word, "--detach"), ("data", "profile", word)):
        shown = run_here(home, *words, code=2).stderr
        assert said in shown
        assert "hint: " in shown


@pytest.mark.slow
def test_a_bucket_that_cannot_be_opened_is_told_with_what_to_mend(home: Path, lake: FileServer, tmp_path: Path) -> None:
    def tried(secret: str = lake.secret, **options: str) -> str:
        problem = connect(home, "lake", "--kind", "s3", *given({**lake.options, **options}), secret=secret)
        assert problem["hint"]
        assert len(problem["message"]) < 300
        assert lake.secret not in json.dumps(problem)
        return problem["message"]

    unkept = connect(home, "lake", "--kind", "s3", *given(lake.options))
    assert "no secret is kept" in unkept["message"]
    assert "its secret is another (SignatureDoesNotMatch)" in tried("wrong")
    assert "the key is not known there" in tried(access_key_id="nobody")
    assert tried(buckets="no-such-bucket") == "lake: There is no bucket 'no-such-bucket' there."
    assert tried(endpoint=f"http://127.0.0.1:{free_port()}").endswith("cannot be reached: nobody answers there.")
    assert tried(endpoint="https://nobody.invalid").endswith("cannot be reached: no host of this name is known.")
    (tmp_path / "empty.pem").write_text("nothing")
    assert "there is no certificate in it" in tried(tls_ca=str(tmp_path / "empty.pem"))
    assert "No such file" in tried(tls_ca=str(tmp_path / "none.pem"))
    # An option that is given as nothing is taken away.
    nothing = given({"buckets": "lake-bucket/none", "tls_ca": "", "endpoint": lake.options["endpoint"]})
    assert "is it the right place?" in connect(home, "lake", *nothing, secret=lake.secret, code=0)["tried"]["server"]


@pytest.mark.slow
def test_a_path_that_is_not_there_begins_no_run(home: Path, lake: FileServer) -> None:
    connect(home, "pond", "--kind", "s3", *given(lake.options), secret=lake.secret, code=0)
    for word, said in {
        "pond:lake-bucket/2031.csv": "pond: There is no 'lake-bucket/2031.csv'.",
        "pond:other-bucket/secret.txt": "There is no 'other-bucket/secret.txt'.",
        "pond:lake-bucket/../x": "is no path here",
        "s3://lake-bucket/2031.csv": "There is no 'lake-bucket/2031.csv'.",
    }.items():
        shown = run_here(home, "run", "how many?", "--data", word, "--model", "openai:one", "--detach", code=2)
        assert said in shown.stderr
        assert shown.stdout == ""
    assert "No data file is in" in run_here(home, "data", "profile", "pond:lake-bucket/sales/deep", code=2).stderr
    assert "it takes no SQL" in run_here(home, "data", "schema", "pond", code=2).stderr
    record = run_here(home, "data", "statements", "pond").stdout
    assert "STAT" in record


@pytest.mark.slow
def test_file_servers_and_apis_say_in_a_sentence_why_they_cannot_be_opened(
    home: Path, files: Path, crm: ApiServer
) -> None:
    with sftp_server(files) as drop, web_server(files) as web:

        def sftp(secret: str = CANARY, **options: str) -> str:
            return connect(home, "drop", "--kind", "sftp", *given({**drop.options, **options}), secret=secret)[
                "message"
            ]

        assert "does not accept this user" in sftp("wrong")
        assert "nothing at the place that the connection names" in sftp(path="/no/such/folder")
        assert "nothing at the place that the connection names" in sftp(path=str(files / "readme.txt"))
        assert "host_key of the connection cannot be read" in sftp(host_key="rubbish")
        assert "private key cannot be read" in sftp("-----BEGIN OPENSSH PRIVATE KEY-----\nx\n")
        assert sftp(host="nobody.invalid").endswith("no host of this name is known.")
        url = web.options["url"]
        assert "answers 401" in connect(home, "web", "--kind", "http", "--url", url, secret="wrong")["message"]
        missing = connect(home, "web", "--kind", "http", "--url", f"{url}none", secret=CANARY)
        assert "nothing at the place that the connection names" in missing["message"]
        other = connect(home, "dav", "--kind", "webdav", "--url", url, "--user", "reader", secret=CANARY)
        assert (other["message"], "server of this kind" in other["hint"]) == ("dav: The server answers 501.", True)
    for kind, option in (("gcs", "bucket=lake"), ("azure", "container=lake")):
        words = ("--kind", kind, "--option", option, *(("--option", "account=acme") if kind == "azure" else ()))
        key = connect(home, kind, *words, secret="no key at all")
        assert "that is n" in key["message"]
        assert "no key at all" not in json.dumps(key)
    untrusted = connect(home, "crm", "--kind", "api", "--url", crm.url("/v1"), secret=API_SECRET)
    assert "certificate is not accepted" in untrusted["message"]
    assert untrusted["hint"] == "`tls_ca` of the connection names its authority."
    plain = connect(home, "crm", "--url", f"http://127.0.0.1:{crm.port}", secret=API_SECRET)
    assert "https:// or http://" in plain["hint"]


@pytest.mark.slow
def test_files_of_a_connection_are_listed_in_the_terminal(home: Path, files: Path) -> None:
    with web_server(files) as web:
        url = web.options["url"]
        connect(home, "shelf", "--kind", "http", "--url", url, secret=CANARY, code=0)
        shown = run_here(home, "data", "files", "shelf")
        assert "readme.txt" in shown.stdout
        told = json.loads(run_here(home, "data", "files", "shelf", "--json").stdout)
        assert {each["path"] for each in told["entries"]} >= {"readme.txt", "sales"}
        below = json.loads(run_here(home, "data", "files", "shelf", "sales", "--below", "--json").stdout)
        assert all(each["path"].startswith("sales/") and not each["is_folder"] for each in below["entries"])
        run_here(home, "data", "files", "shelf", "../secret", code=2)
