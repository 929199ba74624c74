"""A notebook told to a model: cells, graph and outcomes within a token budget, the most relevant first.

How many tokens a text may cost is estimated from above, without a tokenizer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from cellwright.ids import CellId
from cellwright.notebook.dataflow import Graph, Node
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.marimo_graph import graph

# ── the budget ──

_UNITS_PER_TOKEN: Final = 6
_UNITS_PER_ASCII: Final = 2
_UNITS_PER_OTHER_BYTE: Final = 4
_WORTH_CUTTING: Final = 60
"""Fewer characters cost no more than saying that they are missing."""


def estimate_tokens(text: str) -> int:
    """A conservative count: three ASCII characters to a token, and two tokens to three bytes of anything else.

    Code and English run at three and a half to four characters a token on today's tokenizers, CJK at one to two
    tokens a character (here two), so real counts are lower. Never less for a longer text, and the estimate of a
    whole is never more than the sum of its parts.
    """
    return -(-units(text) // _UNITS_PER_TOKEN)


def units(text: str) -> int:
    """The estimate in sixths of a token, in which lengths simply add up."""
    if text.isascii():
        return len(text) * _UNITS_PER_ASCII
    # By a codec, not character by character: an agent counts its whole prompt at every step.
    ascii_count = len(text.encode("ascii", errors="ignore"))
    other_bytes = len(text.encode("utf-8", errors="surrogatepass")) - ascii_count
    return ascii_count * _UNITS_PER_ASCII + other_bytes * _UNITS_PER_OTHER_BYTE


def clip(text: str, tokens: int) -> str:
    """The text, or its beginning with a note of what was cut; always within `tokens`."""
    if estimate_tokens(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(_cut(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    cut = _cut(text, low)
    return cut if estimate_tokens(cut) <= tokens else ""


def clip_middle(text: str, tokens: int) -> str:
    """The text, or its beginning and its end with a note of what is missing between; within `tokens`."""
    if estimate_tokens(text) <= tokens:
        return text
    end = _tail(text, tokens // 3)
    begin = clip(text[: len(text) - len(end)], tokens - estimate_tokens(end))
    begin, _, _ = begin.rpartition("… (")
    missing = len(text) - len(begin) - len(end)
    return f"{begin}… ({missing:,} characters left out) …{end}" if missing > _WORTH_CUTTING else text


def _tail(text: str, tokens: int) -> str:
    """The end of it, from the beginning of a line if there is one."""
    end = text[-3 * tokens :]
    while estimate_tokens(end) > tokens:
        end = end[len(end) // 8 + 1 :]
    _, newline, lines = end.partition("\n")
    return newline + lines if newline and lines else end


def _cut(text: str, length: int) -> str:
    return f"{text[:length]}… ({len(text) - length} more characters)"


# ── the notebook ──

OutcomeStatus = Literal["ok", "failed", "interrupted", "cancelled", "stopped", "disabled", "stale"]

_MANY_CODE_TOKENS: Final = 800
_SHORT_CODE_TOKENS: Final = 120
_OUTPUT_TOKENS: Final = 200
_LINE_CHARACTERS: Final = 60
_NAMES_SHOWN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcomeText:
    """What became of a cell the last time it ran, as text for a model."""

    status: OutcomeStatus
    error: str = ""
    output: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name → preview."""


def summary(
    document: Document,
    outcomes: Mapping[CellId, CellOutcomeText],
    budget_tokens: int,
    focus: Collection[CellId] = (),
    *,
    is_brief: bool = False,
) -> str:
    """The notebook for a prompt, never above `budget_tokens` by `estimate_tokens`; `is_brief`: only a line each.

    First the focused cells, then their neighbours, failed cells and the recently changed, all with code and
    outcome; then the others, in full if there is room, else a line each; last, how many were left out.
    """
    writer = _CellWriter(document, outcomes, frozenset(focus))
    head = writer.head()
    left = budget_tokens * 6 - units(head) - units(_left_out(len(document.cells)))
    if left < 0:
        return clip(head, max(budget_tokens, 0))
    chosen = _choose(writer, left, is_brief=is_brief)
    left_out = len(document.cells) - len(chosen)
    text = "".join([head, *(chosen[cell] for cell in writer.ranked if cell in chosen)])
    return text + (_left_out(left_out) if left_out else "")


def _left_out(count: int) -> str:
    return f"\n({count} more cells are not shown.)"


def _choose(writer: _CellWriter, left: int, *, is_brief: bool) -> dict[CellId, str]:
    """The text of each cell, in so many sixths of a token, which add up exactly; cells that do not fit are missing."""
    chosen: dict[CellId, str] = {}
    for cell in writer.ranked:
        forms = writer.forms(cell) if cell in writer.relevant and not is_brief else (writer.line(cell),)
        form = next((form for form in forms if units(form) <= left), None)
        if form is not None:
            chosen[cell] = form
            left -= units(form)
    for cell in () if is_brief else writer.ranked:
        if cell in chosen and cell not in writer.relevant:
            full = writer.full(cell, _MANY_CODE_TOKENS)
            if (cost := units(full) - units(chosen[cell])) <= left:
                chosen[cell] = full
                left -= cost
    return chosen


class _CellWriter:
    """Puts single cells into words."""

    def __init__(
        self, document: Document, outcomes: Mapping[CellId, CellOutcomeText], focus: frozenset[CellId]
    ) -> None:
        self._cells = {cell.id: cell for cell in document.cells}
        self._number = {cell.id: index + 1 for index, cell in enumerate(document.cells)}
        self._graph: Graph = graph(document)
        self._outcomes = outcomes
        ranks = {cell.id: self._rank(cell, focus) for cell in document.cells}
        self.ranked = sorted(ranks, key=lambda cell: (*ranks[cell], self._number[cell]))
        """Most relevant first."""
        self.relevant = frozenset(cell for cell, (rank, _) in ranks.items() if rank < 4)

    def _rank(self, cell: Cell, focus: frozenset[CellId]) -> tuple[int, int]:
        node = self._graph.nodes[cell.id]
        outcome = self._outcomes.get(cell.id)
        if cell.id in focus:
            return 0, 0
        if focus & (node.parents | node.children):
            return 1, 0
        if node.problem is not None or (outcome is not None and outcome.status in ("failed", "interrupted")):
            return 2, 0
        return (3, -cell.version) if cell.version > 1 else (4, 0)

    def head(self) -> str:
        statuses = Counter(map(self._status, self._cells))
        counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        lines = [f"Notebook: {len(self._cells)} cells" + (f" ({counts})" if counts else "")]
        lines += [
            f"Cycle between {', '.join(cycle.cells[:_NAMES_SHOWN])} through {_names(cycle.names)}"
            for cycle in self._graph.cycles
        ]
        twice = self._graph.defined_twice.items()
        lines += [f"Defined twice: {name} in {', '.join(cells[:_NAMES_SHOWN])}" for name, cells in twice]
        return "\n".join(lines[:_NAMES_SHOWN])

    def forms(self, cell: CellId) -> tuple[str, ...]:
        """The ways to tell a cell, the longest first."""
        return self.full(cell, _MANY_CODE_TOKENS), self.full(cell, _SHORT_CODE_TOKENS), self.line(cell)

    def line(self, cell: CellId) -> str:
        node = self._graph.nodes[cell]
        first = next((line for line in self._cells[cell].code.splitlines() if line.strip()), "")
        defines = f" defines {_names(node.defs)}" if node.defs else ""
        return f"\n{self._title(cell)}{defines}: {first.strip()[:_LINE_CHARACTERS]}"

    def full(self, cell: CellId, code_tokens: int) -> str:
        node = self._graph.nodes[cell]
        code = clip(self._cells[cell].code, code_tokens)
        fence = "```"
        while fence in code:
            fence += "`"
        lines = ["", self._title(cell), *self._edges(node), f"{fence}python", code, fence]
        return "\n".join([*lines, *self._outcome(cell)])

    def _title(self, cell: CellId) -> str:
        held = self._cells[cell]
        name = f" {held.name!r}" if held.name not in (DEFAULT_NAME, str(cell)) else ""
        return f"[{self._number[cell]}] {cell}{name} v{held.version} {self._status(cell)}"

    def _status(self, cell: CellId) -> str:
        if self._graph.nodes[cell].problem is not None:
            return "broken"
        outcome = self._outcomes.get(cell)
        return outcome.status if outcome else "disabled" if self._cells[cell].config.disabled else "not run"

    def _edges(self, node: Node) -> list[str]:
        lines = [f"defines {_names(node.defs)}"] if node.defs else []
        if node.parents:
            needed = {
                name for parent in node.parents for name in self._graph.nodes[parent].defs & (node.refs | node.deletes)
            }
            lines.append(f"needs {_names(needed)} of {_names(node.parents)}")
        if node.children:
            lines.append(f"used by {_names(node.children)}")
        if problem := node.problem:
            at = f" (line {problem.line})" if problem.line else ""
            lines.append(f"{problem.kind}: {problem.message}{at}")
        return lines

    def _outcome(self, cell: CellId) -> list[str]:
        outcome = self._outcomes.get(cell)
        if outcome is None:
            return []
        lines = [f"error: {clip(outcome.error, _OUTPUT_TOKENS)}"] if outcome.error else []
        output, code = outcome.output.strip(), self._cells[cell].code
        # Words that stand in the code, as those of `mo.md`, are not told again.
        if output and not (len(output) > _WORTH_CUTTING and output in code):
            lines.append(f"output: {clip(outcome.output, _OUTPUT_TOKENS)}")
        told = set(outcome.output.splitlines())
        # What the output has told already, and what an import or a function means, is not told again.
        others = [
            (name, preview)
            for name, preview in outcome.variables.items()
            if not set(preview.splitlines()) <= told and not preview.startswith(("module ", f"{name}("))
        ]
        return lines + [f"{name} = {clip(preview, _OUTPUT_TOKENS // 4)}" for name, preview in others[:_NAMES_SHOWN]]


def _names(names: Collection[str]) -> str:
    shown = sorted(names)[:_NAMES_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
