"""Waiting as the service says, and chunks of uploads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.data.exchanges.aws_chunks import AwsChunks, BadChunk
from cellwright.data.exchanges.retries import MAX_RETRIES, seconds_to_wait

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("method", "status", "retry_after", "retries", "wanted"),
    [
        ("GET", 429, "2", 0, 2.0),
        ("HEAD", 503, "0", 2, 0.0),
        ("GET", 429, "Wed, 18 Nov 2026 12:00:05 GMT", 0, 5.0),
        ("GET", 429, "Wed, 18 Nov 2026 11:00:00 GMT", 0, 0.0),
        ("GET", 429, None, 0, None),
        ("GET", 429, "3600", 0, None),
        ("GET", 429, "-1", 0, None),
        ("GET", 429, "soon", 0, None),
        ("GET", 429, "1" * 400, 0, None),
        ("GET", 429, "2", MAX_RETRIES, None),
        ("GET", 500, "2", 0, None),
        ("POST", 429, "2", 0, None),
    ],
)
def test_only_reads_are_repeated_and_only_as_the_service_says(
    method: str, status: int, retry_after: str | None, retries: int, wanted: float | None
) -> None:
    assert seconds_to_wait(method, status, retry_after, retries, NOW) == wanted


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
