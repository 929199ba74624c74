"""Rules of API connections, attacked: the secret goes into one header of allowed requests, and nowhere else."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from cellwright.data.exchanges.api_rules import ApiRules
from cellwright.data.exchanges.requests import CellRequest, RefusedRequest, SentRequest

NOW = datetime(2026, 11, 18, tzinfo=UTC)
SECRET = "canary-of-the-api-5521"
OPTIONS = {"url": "https://crm.example.org/v1", "paths": "/people,/orders/open"}
STAND_IN = ("authorization", "Bearer cellwright-secret:crm")
CRM = ApiRules.of("crm", OPTIONS, SECRET)


def rules(**more: str) -> ApiRules:
    return ApiRules.of("crm", {"url": "https://crm.example.org"} | more, SECRET)


def complete(
    target: str, *headers: tuple[str, str], by: ApiRules = CRM, method: str = "GET"
) -> SentRequest | RefusedRequest:
    return by.complete(CellRequest(method=method, target=target, headers=headers), NOW)


def test_the_secret_takes_the_place_of_the_stand_in() -> None:
    sent = complete(
        "/v1/people/7?page=2", STAND_IN, ("accept", "*/*"), ("accept-encoding", "gzip"), ("cookie", "a=1"),
        ("host", "evil.example.org"), ("range", "bytes=0-5"),
    )  # fmt: skip
    assert isinstance(sent, SentRequest)
    assert sent.target == "/v1/people/7?page=2"
    assert sent.shown == "GET /v1/people/7?page=2"
    assert sent.headers == (
        ("host", "crm.example.org"),
        ("authorization", f"Bearer {SECRET}"),
        ("accept", "*/*"),
        ("accept-encoding", "identity"),
    )
    assert SECRET not in f"{sent}{CRM}"


@pytest.mark.parametrize(
    ("form", "header", "value", "wanted"),
    [
        ("{secret}", "X-Api-Key", "cellwright-secret:crm", SECRET),
        ("token {secret}", "Authorization", "token cellwright-secret:crm", f"token {SECRET}"),
        ("token {secret}", "Authorization", "cellwright-secret:crm", f"token {SECRET}"),
        ("{x}={secret}", "Authorization", "{x}=cellwright-secret:crm", f"{{x}}={SECRET}"),
    ],
)
def test_the_secret_has_the_form_that_the_connection_says(form: str, header: str, value: str, wanted: str) -> None:
    sent = complete("/a", (header.lower(), value), by=rules(form=form, header=header))
    assert isinstance(sent, SentRequest)
    assert dict(sent.headers)[header.lower()] == wanted


@pytest.mark.parametrize("text", ["cellwright-secret:crm:", "cellwright-secret:crm:x", "ada:cellwright-secret:crm"])
def test_basic_credentials_that_a_client_made_of_the_stand_in_are_replaced(text: str) -> None:
    basic = ApiRules.of("crm", {"url": "https://crm.example.org", "form": "Basic"}, "ada:canary-word")
    value = f"Basic {base64.b64encode(text.encode()).decode()}"
    sent = complete("/a", ("authorization", value), by=basic)
    assert isinstance(sent, SentRequest)
    assert dict(sent.headers)["authorization"] == f"Basic {base64.b64encode(b'ada:canary-word').decode()}"
    assert basic.hidden == ("ada:canary-word", "canary-word")


def test_a_request_without_the_stand_in_is_sent_without_the_secret() -> None:
    sent = complete("/v1/people")
    assert isinstance(sent, SentRequest)
    assert SECRET not in repr(sent.headers)


@pytest.mark.parametrize(
    "target",
    [
        "/", "/v1", "/v1/", "/v1/peoples", "/v1/people-secret", "/v1/orders", "/v1/orders/opened", "/v2/people",
        "/V1/people", "/v1/%70eople", "//v1/people", "/v1//people", "/v1/people/../admin", "/v1/people/%2e%2e/admin",
        "/v1/people/%2E%2E%2Fadmin", "/v1/people/..%5cadmin", "/v1/people/%252e%252e/admin", "/v1/people/..;x/admin",
        "/v1/people/.%2e/admin", "/v1/people\\..\\admin", "/v1/people/%0d%0aX:1", "/v1/people#a", "/v1/people a",
        "http://crm.example.org/v1/people", "//evil.example.org/v1/people", "*", "", "/v1/people?_method=DELETE",
        "/v1/people?key=cellwright-secret:crm", "/v1/people/cellwright-secret:crm",
        "/v1/people?key=cellwright-secret%3Acrm",
    ],
)  # fmt: skip
def test_a_path_that_is_not_allowed_is_not_sent(target: str) -> None:
    refused = complete(target, STAND_IN)
    assert isinstance(refused, RefusedRequest), refused
    assert SECRET not in refused.why


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", ""])
def test_a_method_that_is_not_allowed_is_not_sent(method: str) -> None:
    assert isinstance(complete("/v1/people", STAND_IN, method=method), RefusedRequest)


@pytest.mark.parametrize(
    "header",
    [
        ("authorization", "Bearer a-key-of-somebody-else"),
        ("authorization", "Bearer cellwright-secret:other"),
        ("authorization", "Bearer cellwright-secret:crm2"),
        ("authorization", "Bearer cellwright-secret:crm x"),
        ("authorization", "Basic Y2VsbHdyaWdodC1zZWNyZXQ6Y3JtOg=="),
        ("x-api-key", "a-key-of-somebody-else"),
        ("x-note", "cellwright-secret:crm"),
        ("user-agent", "Cellwright-Secret:crm"),
        ("x-http-method-override", "DELETE"),
        ("x-original-url", "/admin"),
    ],
)
def test_a_header_that_could_mean_something_else_is_refused(header: tuple[str, str]) -> None:
    refused = complete("/v1/people", header)
    assert isinstance(refused, RefusedRequest)
    assert SECRET not in refused.why


def test_the_secret_is_sent_once() -> None:
    assert isinstance(complete("/v1/people", STAND_IN, STAND_IN), RefusedRequest)


def test_all_paths_below_the_url_are_allowed_unless_some_are_named() -> None:
    assert isinstance(complete("/any/thing?x=1", by=rules()), SentRequest)
    assert isinstance(complete("/group%2Fname", by=rules()), SentRequest)
    assert isinstance(complete("/v2", by=rules(url="https://crm.example.org/v1")), RefusedRequest)


def test_an_api_without_a_secret_gets_no_header_in_the_place_of_the_stand_in() -> None:
    bare = ApiRules.of("crm", OPTIONS, "")
    for headers in ((STAND_IN,), ()):
        sent = complete("/v1/people", *headers, ("accept", "*/*"), by=bare)
        assert isinstance(sent, SentRequest)
        assert [name for name, _ in sent.headers] == ["host", "accept", "accept-encoding"]
    for other in (("authorization", "Bearer mine"), ("x-api-key", "mine")):
        assert isinstance(complete("/v1/people", other, by=bare), RefusedRequest)
