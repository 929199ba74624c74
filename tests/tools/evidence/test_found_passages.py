"""A reader sees the sentences around the words looked for, and copies of a passage once."""

from cellwright.documents.document import Page
from cellwright.tools.evidence.comparison import compared_text
from cellwright.tools.evidence.found_passages import Excerpt, FoundPassage, excerpt_of, folded

FILLER = "Nothing of it is said in this sentence here. " * 40
ANSWER = "The quorum is three times Q, and votes above it count. Who calls it decides."


def test_an_excerpt_is_of_whole_sentences_with_the_answer_in_it() -> None:
    text = f"{FILLER}{ANSWER} {FILLER}"
    start, end = excerpt_of(text, "how large is the quorum of votes?", (0, len(text)), 300)
    assert ANSWER in text[start:end]
    assert text[start:].startswith("Nothing of it")
    assert text[:end].rstrip().endswith(".")
    assert end - start <= 300


def test_an_excerpt_begins_and_ends_somewhere_in_a_text_without_sentences() -> None:
    assert excerpt_of("x" * 5_000, "y", (1_000, 2_000), 700) == (790, 1_490)
    assert excerpt_of("short", "short", (0, 5), 700) == (0, 5)


def test_copies_are_folded_and_what_differs_in_a_word_stays() -> None:
    found = [
        Excerpt(where="d1", start=0, text="A 2:1 majority\n  is needed."),
        Excerpt(where="d2", start=5, text="A 2:1 majority is\nneeded."),
        Excerpt(where="d3", start=0, text="A 3:1 majority is needed."),
        Excerpt(where="d4", start=0, text="majority is needed."),
    ]
    assert folded(found, 6) == (
        FoundPassage(excerpt=found[0], also=("d2", "d4")),
        FoundPassage(excerpt=found[2]),
    )


def test_two_versions_differ_in_lines_with_their_pages_and_a_long_difference_goes_on() -> None:
    one = [Page(number=1, text="Same.\n  Old."), Page(number=2, text="End.")]
    other = [Page(number=1, text="Same.\nNew."), Page(number=2, text="End.")]
    assert compared_text(one, other, 1, 1_000).splitlines() == [
        "— change 1, page 1 of a, page 1 of b —",
        "  Same.",
        "- Old.",
        "+ New.",
        "  End.",
        "That is all: 1 change.",
    ]
    old = [Page(number=1, text="\n".join(f"same {n}\nold {n}\nsame too {n}\nand {n}" for n in range(50)))]
    new = [Page(number=1, text=old[0].text.replace("old", "new"))]
    assert "It goes on: from_change=" in compared_text(old, new, 1, 500)
