"""The first screen of a report: headline, one picture, findings, and a line on how far to trust it.

At most 40 words stand before the picture. Every image stands on the page once; whoever opens a finding sees it large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import Document
from cellwright.runs.deliver.delivery import DeliveredFinding, Delivery, still_failing
from cellwright.runs.deliver.report.outputs import Charts
from cellwright.runs.deliver.report.pictures import cell_named, described, picture_of
from cellwright.runs.deliver.report.prose import line, listed, prose
from cellwright.runs.deliver.report.sanitizer import escaped
from cellwright.runs.deliver.report.text import SAYS

SKIP: Final = "Skip to findings"
_WORDS_BEFORE_PICTURE: Final = 40
_HEADLINE_WORDS: Final = 34
_GOAL_WORDS: Final = 14
_FEWEST_GOAL_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class PlacedImages:
    """Which image of which cell stands on the first screen, and where."""

    images: Mapping[CellId, tuple[str, str]] = field(default_factory=dict[CellId, tuple[str, str]])
    """As the cell shows it, and the id of the place where it stands."""

    def at(self, place: str) -> str:
        """The image that stands there; empty: none."""
        return next((image for image, there in self.images.values() if there == place), "")

    def without(self, cell: CellId, html: str) -> str:
        """What a cell shows, with a link where its image stands on the first screen already."""
        image, place = self.images.get(cell, ("", ""))
        if not image:
            return html
        link = f'<p class="note">Its picture stands <a href="#{place}">at the top</a>.</p>'
        return html.replace(image, link, 1) if image in html else link + html


def place_images(
    delivery: Delivery, document: Document | None, outcomes: Mapping[CellId, CellOutcome], charts: Charts
) -> PlacedImages:
    """The pictures the delivery names, as far as they are there; each cell's once."""
    images: dict[CellId, tuple[str, str]] = {}
    if document is None or not delivery.headline:
        return PlacedImages()
    wanted = [("picture", delivery.picture)]
    wanted += [(_finding_id(number), finding.cell) for number, finding in enumerate(delivery.findings, 1)]
    for place, name in wanted:
        cell = cell_named(document, name)
        if cell is not None and cell.id not in images and (image := picture_of(outcomes.get(cell.id), charts)):
            images[cell.id] = (image, place)
    return PlacedImages(images)


def opening_html(delivery: Delivery, images: PlacedImages) -> str:
    """The first screen of a delivery that has a headline; what still fails stands above all of it."""
    picture = images.at("picture")
    parts = (
        _head(delivery),
        _picture(delivery, picture),
        ending_html(delivery),
        _findings(delivery, images),
        _trust(delivery),
    )
    body = "\n".join(part for part in parts if part)
    kind = "first" + ("" if picture else " bare") + ("" if delivery.findings else " alone")
    return f'{failing_html(delivery)}\n<section class="{kind}" aria-labelledby="headline">\n{body}\n</section>'.lstrip()


def cut_goal(delivery: Delivery) -> str:
    """The goal as it stands above the headline; empty where there is no room for it, or nothing new in it."""
    goal = " ".join(delivery.goal.split())
    if goal == delivery.headline:
        return ""
    taken = sum(len(text.split()) for text in (SKIP, SAYS[delivery.status], _headline(delivery)))
    room = min(_GOAL_WORDS, _WORDS_BEFORE_PICTURE - taken)
    return _first_words(goal, room) if room >= _FEWEST_GOAL_WORDS else ""


def ending_html(delivery: Delivery) -> str:
    """Why it ended and what nobody repaired, unless it is done."""
    why = why_alone(delivery)
    parts = [f"<h2>Why it ended</h2>{prose(why)}"] if why else []
    known = still_failing(delivery)
    if others := [problem for problem in delivery.problems if problem not in known]:
        problems = [f"<li>{line(problem)}</li>" for problem in others]
        parts.append(f"<h2>Problems nobody repaired</h2>{listed(problems)}")
    return f'<div class="ended">{"".join(parts)}</div>' if parts else ""


def failing_html(delivery: Delivery) -> str:
    """What a review has shown to be wrong and nobody mended: before anything else is read."""
    fails = [f"<li>{line(text)}</li>" for text in still_failing(delivery)]
    return f'<div class="ended failing" role="alert"><h2>Shown to be wrong</h2>{listed(fails)}</div>' if fails else ""


def why_alone(delivery: Delivery) -> str:
    """Why it ended, as far as the problems do not say it."""
    left = delivery.why
    for problem in delivery.problems:
        left = left.replace(problem, "")
    return left if left == delivery.why else re.sub(r"(?:;\s*)+", "; ", left).strip("; \n")


# ── its parts ──


def _head(delivery: Delivery) -> str:
    goal = cut_goal(delivery)
    asked = f' <span class="goal" title="{escaped(delivery.goal)}">{escaped(goal)}</span>' if goal else ""
    badge = f'<span class="badge {delivery.status}">{SAYS[delivery.status]}</span>'
    return f'<header><p class="asked">{badge}{asked}</p><h1 id="headline">{escaped(_headline(delivery))}</h1></header>'


def _headline(delivery: Delivery) -> str:
    return _first_words(delivery.headline, _HEADLINE_WORDS)


def _first_words(text: str, most: int) -> str:
    words = text.split()
    return " ".join(words) if len(words) <= most else f"{' '.join(words[:most])}…"


def _picture(delivery: Delivery, image: str) -> str:
    if not image:
        return ""
    return f'<figure class="picture" id="picture">{described(image, escaped(_headline(delivery)))}</figure>'


def _findings(delivery: Delivery, images: PlacedImages) -> str:
    items = "".join(_items(delivery.findings, images))
    return f'<div class="found"><h2 id="findings">Findings</h2><ol>{items}</ol></div>' if items else ""


def _items(findings: Sequence[DeliveredFinding], images: PlacedImages) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        place = _finding_id(number)
        image, statistics = images.at(place), escaped(finding.statistics)
        hover = f' title="{statistics}"' if statistics else ""
        parts = [f"<p{hover}>{escaped(finding.says)}</p>"]
        if image:
            parts.append(described(image, escaped(finding.says)))
        if statistics or image:
            below = f"<p>{statistics}</p>" if statistics else ""
            parts.append(f"<details><summary>{'Statistics' if statistics else 'Larger'}</summary>{below}</details>")
        kind = "finding pictured" if image else "finding"
        yield f'<li class="{kind}" id="{place}">{"".join(parts)}</li>'


def _finding_id(number: int) -> str:
    return f"finding-{number}"


def _trust(delivery: Delivery) -> str:
    link = ""
    if delivery.checks:
        link = ' <a href="#checks">How it was checked</a>'
    elif delivery.notebook or delivery.summary.strip():
        link = ' <a href="#method">How it was made</a>'
    return f'<p class="trust">{escaped(delivery.trust)}{link}</p>' if delivery.trust or link else ""
