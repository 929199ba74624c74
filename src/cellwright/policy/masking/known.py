"""Known secrets found in a text, by the prints of their forms, in time linear in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cellwright.policy.masking.forms import WINDOW, forms_of, has_blanks, print_of
from cellwright.policy.masking.views import View, views_of

# Every window of eight holds, at one of four neighbouring places, a block of five that starts at a multiple of four.
# Only these blocks are looked up, in a small lossy table; what it lets through is checked by print.
_STRIDE: Final = 4
_BLOCK: Final = WINDOW - _STRIDE + 1
_TABLE_MASK: Final = (1 << 20) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Bytes of a text in which a secret stands."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSecrets:
    """The prints of all secrets: enough to find them, not to show them. Good only in the process that made it."""

    salt: bytes = field(repr=False)
    prints: Mapping[bytes, tuple[int, str]] = field(repr=False)
    """By print: how many in a row are needed, and whose it is."""
    table: bytes = field(repr=False)
    """Not zero at the hash of every block and window; so most of a text is passed over quickly."""
    with_blanks: bool
    """Whether blanks are part of a secret."""

    @classmethod
    def of(cls, secrets: Mapping[str, bytes], salt: bytes) -> KnownSecrets:
        """The prints of these secrets, each at least eight bytes long."""
        prints, table = dict[bytes, tuple[int, str]](), bytearray(_TABLE_MASK + 1)
        for name, secret in secrets.items():
            for form in forms_of(secret):
                for window in _pieces(form.spelling, WINDOW):
                    found = print_of(window, salt)
                    prints[found] = min(prints.get(found, (form.chain, name)), (form.chain, name))
                    table[hash(window) & _TABLE_MASK] = 1
                for block in _pieces(form.spelling, _BLOCK):
                    table[hash(block) & _TABLE_MASK] = 1
        with_blanks = any(has_blanks(secret) for secret in secrets.values())
        return cls(salt=salt, prints=prints, table=bytes(table), with_blanks=with_blanks)

    def find(self, raw: bytes) -> Iterator[Sighting]:
        """Every place where eight bytes or more of a secret stand, in any form; places may overlap."""
        if self.prints:
            for view in views_of(raw, with_blanks=self.with_blanks):
                yield from self._find_in(view)

    def _find_in(self, view: View) -> Iterator[Sighting]:
        chains = list(self._chains(view.data))
        if chains:
            starts, ends = view.locate()
            for first, last, name in chains:
                yield Sighting(start=starts[first], end=ends[last], name=name)

    def _chains(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """First and last byte of each run of windows that are known, if it is long enough."""
        first, previous, needed, name = 0, -2, 0, ""
        for at, (chain, owner) in self._windows(data):
            if at != previous + 1:
                if previous - first + 1 >= needed > 0:
                    yield first, previous + WINDOW - 1, name
                first, needed, name = at, chain, owner
            elif chain < needed:
                needed, name = chain, owner
            previous = at
        if previous - first + 1 >= needed > 0:
            yield first, previous + WINDOW - 1, name

    def _windows(self, data: bytes) -> Iterator[tuple[int, tuple[int, str]]]:
        """Every place at which a known window starts, in order."""
        table, end = self.table, len(data) - _BLOCK + 1
        # The one loop over all of the text, so kept to a single expression.
        places = [at for at in range(0, end, _STRIDE) if table[hash(data[at : at + _BLOCK]) & _TABLE_MASK]]
        for place in places:
            for at in range(max(0, place - _STRIDE + 1), place + 1):
                window = data[at : at + WINDOW]
                if table[hash(window) & _TABLE_MASK] and (found := self.prints.get(print_of(window, self.salt))):
                    yield at, found


def _pieces(spelling: bytes, size: int) -> set[bytes]:
    return {spelling[start : start + size] for start in range(len(spelling) - size + 1)}
