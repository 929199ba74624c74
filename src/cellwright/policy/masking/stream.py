"""Masking of a text that arrives in pieces: nothing goes out before it is certain that no secret begins there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.policy.masking.known_secrets import LONGEST_CHAIN, WINDOW, views_of
from cellwright.policy.masking.masker import Masker, SecretFinding, replacement

LONGEST_WAIT: Final = 4096
"""Limit of characters held back while nothing is found in them."""

LONGEST_FINDING: Final = 65_536
"""Limit of characters of one secret that are held back; the rest is dropped as it comes."""

_CONTEXT: Final = 128
_UNDECIDED_BYTES: Final = WINDOW + LONGEST_CHAIN - 1
_RESCAN_FROM: Final = 1024


class MaskingStream:
    """Takes a text in pieces and gives it back masked, a few words late. Call `finish` at the end."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._context = ""
        """What has gone out last: a secret may be known by what stands before it."""
        self._pending = ""
        self._unscanned = 0
        self._sent = 0
        self._is_inside = False
        """Whether the last cut went through a secret that was replaced already."""
        self._found = list[SecretFinding]()

    @property
    def found(self) -> tuple[SecretFinding, ...]:
        """What has been replaced so far, by its place in the whole text."""
        return tuple(self._found)

    def feed(self, piece: str) -> str:
        """What can go out now that this piece has come in."""
        self._pending += piece
        self._unscanned += len(piece)
        # Much is held back and little is new: looking again each time would take time quadratic in the text.
        if len(self._pending) > _RESCAN_FROM and self._unscanned * 4 < len(self._pending):
            return ""
        return self._advance(is_end=False)

    def finish(self) -> str:
        """The rest."""
        return self._advance(is_end=True)

    def _advance(self, *, is_end: bool) -> str:
        buffer, begin = self._context + self._pending, len(self._context)
        findings = self._masker.find(buffer)
        cut, through = (len(buffer), None) if is_end else self._cut(buffer, findings, begin)
        if cut == begin and not is_end:
            self._unscanned = 0
            return ""
        parts, at = list[str](), begin
        for finding in findings:
            if finding.end <= begin or finding.start >= cut:
                continue
            parts.append(buffer[at : max(at, finding.start)])
            if finding.start >= begin or not self._is_inside:
                parts.append(replacement(finding))
                self._found.append(self._in_stream(finding, begin))
            at = min(finding.end, cut)
        parts.append(buffer[at:cut])
        self._sent += cut - begin
        self._pending, self._unscanned = buffer[cut:], 0
        self._is_inside = through is not None
        head = f"{buffer[through.start : through.start + _CONTEXT]}\n" if through else ""
        self._context = head + buffer[max(0, cut - _CONTEXT) : cut]
        return "".join(parts)

    def _cut(self, buffer: str, findings: Sequence[SecretFinding], begin: int) -> tuple[int, SecretFinding | None]:
        """How far everything is decided, and the finding this goes through if one is too long to wait for its end."""
        decided = min(self._decided_by_prints(buffer), _last_word(buffer))
        cut = max(begin, decided, len(buffer) - LONGEST_WAIT)
        for finding in findings:
            if finding.start < cut and (finding.end > cut or finding.end == len(buffer)):
                if len(buffer) - finding.start > LONGEST_FINDING:
                    return len(buffer) if finding.end == len(buffer) else cut, finding
                return max(begin, finding.start), None
        return cut, None

    def _decided_by_prints(self, buffer: str) -> int:
        """Before this, every window that could be a secret's is complete."""
        if not self._masker.known.prints:
            return len(buffer)
        raw = buffer.encode("utf-8", "surrogatepass")
        *_, last = views_of(raw, with_blanks=False)
        starts, _ = last.locate()
        if len(starts) < _UNDECIDED_BYTES:
            return 0
        return len(raw[: starts[-_UNDECIDED_BYTES]].decode("utf-8", "ignore"))

    def _in_stream(self, finding: SecretFinding, begin: int) -> SecretFinding:
        return SecretFinding(
            name=finding.name,
            is_known=finding.is_known,
            start=self._sent + max(0, finding.start - begin),
            end=self._sent + finding.end - begin,
        )


def _last_word(buffer: str) -> int:
    """Where the last word begins, which may not have ended yet."""
    tail = buffer[-LONGEST_WAIT:]
    return len(buffer) if tail[-1:].isspace() else len(buffer) - len(tail.rsplit(maxsplit=1)[-1]) if tail else 0
