"""Waiting as the service says, and chunks of uploads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.data.exchanges.aws_chunks import AwsChunks, BadChunk
from cellwright.data.exchanges.retries import MAX_RETRIES, asked_seconds, seconds_to_wait

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "headers", "asked"),
    [
        (429, {"retry-after": "2"}, 2.0),
        (503, {"retry-after": "0"}, 0.0),
        (429, {"retry-after": "Wed, 18 Nov 2026 12:00:05 GMT"}, 5.0),
        (429, {"retry-after": "Wed, 18 Nov 2026 11:00:00 GMT"}, 0.0),
        (429, {"retry-after": "3600"}, 3600.0),
        (429, {"ratelimit-reset": "7"}, 7.0),
        (429, {"x-ratelimit-reset": str(int(NOW.timestamp()) + 9)}, 9.0),
        (429, {"ratelimit": '"default";r=0;t=11'}, 11.0),
        (429, {"ratelimit": "limit=100, remaining=0, reset=12"}, 12.0),
        (429, {"retry-after": "3", "x-ratelimit-reset": "9"}, 3.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4"}, 4.0),
        (403, {"x-ratelimit-remaining": "5", "x-ratelimit-reset": "4"}, None),
        (403, {"retry-after": "4"}, None),
        (429, {}, None),
        (429, {"retry-after": "-1"}, None),
        (429, {"retry-after": "soon"}, None),
        (500, {"retry-after": "2"}, None),
        (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4"}, None),
    ],
)
def test_a_service_says_how_long_to_wait_in_several_ways(
    status: int, headers: dict[str, str], asked: float | None
) -> None:
    assert asked_seconds(status, headers.get, NOW) == asked


@pytest.mark.parametrize(
    ("method", "asked", "retries", "wanted"),
    [
        ("GET", 2.0, 0, 2.0),
        ("HEAD", 0.0, MAX_RETRIES - 1, 0.0),
        ("GET", None, 0, None),
        ("GET", 3600.0, 0, None),
        ("GET", float("1" * 10), 0, None),
        ("GET", 2.0, MAX_RETRIES, None),
        ("POST", 2.0, 0, None),
    ],
)
def test_only_reads_are_repeated_and_only_as_the_service_says(
    method: str, asked: float | None, retries: int, wanted: float | None
) -> None:
    assert seconds_to_wait(method, asked, retries) == wanted


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.lists(st.integers(0, 400), max_size=8))
def test_a_body_comes_out_of_its_chunks_wherever_they_are_cut(parts: list[bytes], cuts: list[int]) -> None:
    chunks = [b"%x;chunk-signature=abc\r\n%s\r\n" % (len(part), part) for part in parts]
    data = b"".join([*chunks, b"0;chunk-signature=abc\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"])
    reader, found, before = AwsChunks(), b"", 0
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        found += reader.feed(data[before:cut])
        before = cut
    reader.finish()
    assert found == b"".join(parts)


@pytest.mark.parametrize("data", [b"zz\r\n", b"5\nhello", b"5\r\nhelloXX", b"A" * 300, b"0\r\n" + b"x" * 9000])
def test_what_is_no_chunk_is_refused(data: bytes) -> None:
    with pytest.raises(BadChunk):
        AwsChunks().feed(data)


def test_a_body_that_ends_early_is_refused() -> None:
    reader = AwsChunks()
    assert reader.feed(b"5\r\nhel") == b"hel"
    with pytest.raises(BadChunk):
        reader.finish()
