"""Answers of APIs become rows, and lead to their next page only inside the connection."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.data.api_answers import flat, next_target, rows_of

ASKED = "https://api.example/v1/customers?state=open"
NOWHERE = [
    "https://evil.example/v1/customers?page=2",
    "//evil.example/x",
    "http://api.example/v1/customers?page=2",
    "https://api.example@evil.example/x",
    ASKED,
    "/x" * 3_000,
    "https://[",
]


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 2}]),
        ({"data": [{"a": 1}], "meta": {"total": 1}}, [{"a": 1}]),
        ({"result": {"items": [{"a": 1}], "errors": []}}, [{"a": 1}]),
        ({"count": 3, "few": [{"x": 1}], "many": [{"a": 1}, {"a": 2}]}, [{"a": 1}, {"a": 2}]),
        ([1, 2], [{"value": 1}, {"value": 2}]),
        ({"id": 1, "name": "A"}, [{"id": 1, "name": "A"}]),
        ({"data": []}, [{"data": []}]),
        ("up", [{"value": "up"}]),
        (None, [{"value": None}]),
    ],
)
def test_rows_are_the_one_list_of_objects_however_it_is_wrapped(answer: Any, rows: list[dict[str, Any]]) -> None:
    assert rows_of(answer) == rows


def test_an_object_that_has_a_list_among_its_own_values_is_one_row() -> None:
    order = {
        "id": 1,
        "state": "open",
        "total": 2,
        "currency": "EUR",
        "by": "A",
        "at": "x",
        "lines": 1,
        "items": [{"n": 1}],
    }
    assert rows_of(order) == [order]


def test_objects_in_a_row_are_columns_of_their_own_and_lists_stay() -> None:
    row = {"id": 1, "customer": {"name": "A", "home": {"city": "B"}}, "tags": ["x"], "none": {}}
    assert flat(row) == {"id": 1, "customer.name": "A", "customer.home.city": "B", "tags": ["x"], "none": {}}


@pytest.mark.parametrize(
    ("links", "answer", "target"),
    [
        ('<https://api.example/v1/customers?page=2>; rel="next", <x>; rel="last"', [], "/v1/customers?page=2"),
        ('<x>; rel="prev",<?page=3>; rel="next"', [], "/v1/customers?page=3"),
        ("", {"next": "/v1/customers?page=2", "results": []}, "/v1/customers?page=2"),
        ("", {"_links": {"next": {"href": "https://API.example/v1/customers?page=2"}}}, "/v1/customers?page=2"),
        ("", {"@odata.nextLink": "https://api.example/v1/customers?skip=5"}, "/v1/customers?skip=5"),
        ("", {"meta": {"next_cursor": "abc="}}, "/v1/customers?state=open&cursor=abc%3D"),
        ("", {"nextPageToken": 7}, "/v1/customers?state=open&pageToken=7"),
        ('</v1/customers?page=9>; rel="last next"', [], "/v1/customers?page=9"),
        ("", {"page": 1, "total_pages": 3}, "/v1/customers?state=open&page=2"),
        ("", {"meta": {"current_page": 2, "last_page": 3}}, "/v1/customers?state=open&page=3"),
        ("", {"page": 3, "pages": 3}, None),
        ("", {"offset": 50, "limit": 50, "total": 120}, "/v1/customers?state=open&offset=100"),
        ("", {"startAt": 100, "maxResults": 50, "total": 120}, None),
        ("", {"page": True, "pages": 3}, None),
        ("", {"next": None, "next_cursor": None}, None),
        ("", {"next_cursor": ""}, None),
        ("", [{"next": "/x"}], None),
    ],
)
def test_the_next_page_is_where_the_service_says(links: str, answer: Any, target: str | None) -> None:
    assert next_target(ASKED, links, answer) == target


@pytest.mark.parametrize("said", NOWHERE)
def test_a_next_page_that_is_elsewhere_or_the_same_is_none(said: str) -> None:
    assert next_target(ASKED, f'<{said}>; rel="next"', []) is None
    assert next_target(ASKED, "", {"next": said}) is None


def test_the_same_cursor_once_more_is_the_end() -> None:
    assert next_target("https://api.example/x?cursor=a", "", {"next_cursor": "a"}) is None
