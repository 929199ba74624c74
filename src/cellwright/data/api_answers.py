"""What an API answered, as rows: which list in it is the data, and where the next page is. Pure.

An answer is a stranger's: where it leads is followed only inside the connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

Row = dict[str, Any]
_DEEPEST: Final = 3
_NEXT_KEYS: Final = ("next", "next_page", "nextPage", "nextLink", "next_url", "@odata.nextLink", "next_link")
_LINKS: Final = re.compile(r"<([^<>]*)>([^<>]*)")
_AROUND_NEXT: Final = ("links", "_links", "paging", "pagination", "meta", "page")
_CURSORS: Final = {
    "next_cursor": ("cursor", "after"),
    "nextCursor": ("cursor", "after"),
    "nextPageToken": ("pageToken", "page_token"),
    "next_page_token": ("page_token", "pageToken"),
    "cursor": ("cursor",),
    "continuation_token": ("continuation_token", "continuation"),
}
"""What an answer calls a place to go on from, and what a request calls it."""
_NUMBERED: Final = (
    ("page", ("page", "current_page", "currentPage", "page_number", "pageNumber"),
     ("total_pages", "totalPages", "pages", "page_count", "pageCount", "last_page", "lastPage")),
)  # fmt: skip
"""What a request calls the number of a page, what an answer calls it, and how many there are."""
_OFFSETS: Final = (("offset", "limit", "total"), ("offset", "limit", "count"), ("startAt", "maxResults", "total"))
"""Where an answer begins, how many rows a page has, and how many there are; a request calls the first likewise."""


def rows_of(answer: Any) -> list[Row]:
    """The rows in an answer: its one list of objects, however it is wrapped; else the answer itself, as one row."""
    found = _records(answer, 0)
    if found is None:
        return [cast("Row", answer)] if isinstance(answer, dict) else [{"value": answer}]
    return [cast("Row", each) if isinstance(each, dict) else {"value": each} for each in found]


def flat(row: Mapping[str, Any]) -> Row:
    """A row whose objects are columns of their own (`customer.name`); lists stay as they are."""
    return dict(_flat(row, "", 0))


def next_target(address: str, links: str, answer: Any) -> str | None:
    """Path and query of the page after this one; None: there is none, or it is on another host.

    `address` is what was asked, whole; `links` the answer's `Link` header.
    """
    asked = urlsplit(address)
    said = _link(links) or _said(answer)
    if said is not None:
        return _inside(address, said)
    given = dict(parse_qsl(asked.query, keep_blank_values=True))
    for name, value in _cursors(answer):
        known = next((each for each in _CURSORS[name] if each in given), _CURSORS[name][0])
        if given.get(known) != value:
            return f"{asked.path}?{urlencode(given | {known: value})}"
    for name, place in _counted(answer):
        if given.get(name) != str(place):
            return f"{asked.path}?{urlencode(given | {name: str(place)})}"
    return None


def _counted(answer: Any) -> Iterator[tuple[str, int]]:
    """Where the service says how many pages or rows there are, and which these were: the place of the next."""
    for place in _places(answer):
        for name, numbers, totals in _NUMBERED:
            number, total = _first_count(place, numbers), _first_count(place, totals)
            if number is not None and total is not None and 0 <= number < total:
                yield name, number + 1
        for name, size, total in _OFFSETS:
            begin, step, whole = (_first_count(place, (each,)) for each in (name, size, total))
            if begin is not None and step and whole is not None and begin + step < whole:
                yield name, begin + step


def _first_count(place: Row, names: Sequence[str]) -> int | None:
    found = (place[name] for name in names if name in place)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


def _records(answer: Any, depth: int) -> list[Any] | None:
    """The list that is the data: the answer itself, or the longest one inside it that is not too deep."""
    if isinstance(answer, list):
        return cast("list[Any]", answer)
    if not isinstance(answer, dict) or depth >= _DEEPEST:
        return None
    inside = [_records(value, depth + 1) for value in cast("Row", answer).values()]
    lists = [each for each in inside if each and all(isinstance(item, dict) for item in each)]
    # One object that has a list among many other values is a row, and the list a part of it.
    if not lists or (depth == 0 and len(_plain_values(cast("Row", answer))) > _MOST_BESIDE):
        return None
    return max(lists, key=len)


_MOST_BESIDE: Final = 6


def _plain_values(answer: Row) -> list[str]:
    return [name for name, value in answer.items() if type(value) not in {dict, list}]


def _flat(row: Mapping[str, Any], before: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            yield from _flat(cast("Row", value), f"{before}{name}.", depth + 1)
        else:
            yield f"{before}{name}", value


def _link(links: str) -> str | None:
    """The address of `rel="next"` in a `Link` header."""
    for address, rest in _LINKS.findall(links[:20_000]):
        words = [each.strip(" ,").lower().replace('"', "") for each in rest.split(";")]
        if any("next" in word.removeprefix("rel=").split() for word in words if word.startswith("rel=")):
            return address
    return None


def _said(answer: Any) -> str | None:
    for place in _places(answer):
        for key in _NEXT_KEYS:
            value = place.get(key)
            if isinstance(value, dict):
                value = cast("Row", value).get("href")
            if isinstance(value, str) and (value.startswith(("/", "?")) or "://" in value):
                return value
    return None


def _cursors(answer: Any) -> Iterator[tuple[str, str]]:
    for place in _places(answer):
        for name in _CURSORS:
            if isinstance(value := place.get(name), str | int) and value not in {"", False, True}:
                yield name, str(value)


def _places(answer: Any) -> Sequence[Row]:
    if not isinstance(answer, dict):
        return ()
    found = cast("Row", answer)
    return [found, *(cast("Row", found[key]) for key in _AROUND_NEXT if isinstance(found.get(key), dict))]


def _inside(address: str, said: str) -> str | None:
    if len(said) > 4_000 or not said.isprintable():
        return None
    try:
        asked, there = urlsplit(address), urlsplit(urljoin(address, said))
    except ValueError:
        return None
    if (there.scheme, there.netloc.lower()) != (asked.scheme, asked.netloc.lower()):
        return None
    target = f"{there.path}?{there.query}" if there.query else there.path
    return None if (there.path, there.query) == (asked.path, asked.query) else target
