"""Figures and names of sentences, and whether quotes have them."""

import pytest

from cellwright.tools.evidence.figures import figures_in, missing_figures, missing_labels, missing_names, sentences_of


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("Revenue was 1,234.5 in 2021.", "In 2021: 1234.5"),
        ("It sold 3.5 million.", "3,500,000 were sold"),
        ("It sold 3.5 million.", "sold: 3.5 mio"),
        ("Three plants remain.", "3 plants"),
        ("It fell by 12 %.", "a fall of 12 percent"),
        ("About 12 of them left.", "11.97"),
        ("It cost 1.234 euros.", "1,234 euros"),
        ("Between 2020-2021 it fell by -5.", "-5 between 2020 and 2021"),
    ],
)
def test_a_figure_is_found_however_it_is_written(sentence: str, quote: str) -> None:
    assert missing_figures(sentence, [quote]) == ()


@pytest.mark.parametrize(
    ("sentence", "quote", "missing"),
    [
        ("Revenue was 41.3 million.", "Revenue was 41.2 million.", ("41.3",)),
        ("Revenue was 41.2 billion.", "Revenue was 41.2 million.", ("41.2",)),
        ("12 of them left.", "11.97", ("12",)),
        ("It rose in 2024.", "It rose in 2023.", ("2024",)),
        ("Four plants remain.", "3 plants", ("Four",)),
    ],
)
def test_a_figure_that_is_another_is_named(sentence: str, quote: str, missing: tuple[str, ...]) -> None:
    assert missing_figures(sentence, [quote]) == missing


def test_names_are_found_in_quotes_and_the_first_word_is_none() -> None:
    assert missing_names("The board of Norwell met NASA in Paris.", ["norwell's board met in Paris"]) == ("NASA",)


def test_sentences_keep_their_citations_and_headings_are_none() -> None:
    text = "# Title 5\n\nIt fell, e.g. by 3. [c1234567] Then it rose [cabcdef0].\n\n- A point of Dr. Hall [c1234567]"
    assert sentences_of(text) == (
        "It fell, e.g. by 3 [c1234567].",
        "Then it rose [cabcdef0].",
        "A point of Dr. Hall [c1234567]",
    )


def test_ids_of_cards_hold_no_figures() -> None:
    assert figures_in("It fell [c1234567].") == ()


@pytest.mark.parametrize(
    ("sentence", "quote", "name"),
    [
        ("In version 1.4 a majority of 3:1 is needed.", "a 3:1 majority", ""),
        ("In 1.4 it was so.", "It was so.", "constitution.1.4.txt"),
        ("Versions 1.0, 1.7 and 1.8 need 3 weeks.", "3 weeks", ""),
        ("§ 6.2 and steps 3–5 of A.6.1.2 say so.", "They say so.", ""),
        ("Section 1.4.2 says 5.", "5", ""),
        ("In 2023 it fell.", "It fell.", "annual-2023.pdf"),
    ],
)
def test_a_number_that_names_a_version_or_a_section_is_no_measure(sentence: str, quote: str, name: str) -> None:
    assert missing_figures(sentence, [quote], [name]) == ()


@pytest.mark.parametrize(
    ("sentence", "quote", "name", "missing"),
    [
        ("It rose by 1.4.", "It rose.", "", ("1.4",)),
        ("Part 2 million was lost.", "It was lost.", "", ("2",)),
        ("In section 3, 41 plants closed.", "Plants closed.", "", ("41",)),
        ("3 plants remain.", "Plants remain.", "report-3.pdf", ("3",)),
        ("1 week.", "As of version 1.0.", "", ("1",)),
        ("1.234.567 were sold.", "They were sold.", "", ("1.234.567",)),
    ],
)
def test_a_measure_is_no_label(sentence: str, quote: str, name: str, missing: tuple[str, ...]) -> None:
    assert missing_figures(sentence, [quote], [name]) == missing


def test_a_label_is_what_is_written_and_not_its_value() -> None:
    assert missing_labels("Version 1.0 says so.", ["1 week", "v1.1"]) == ("1.0",)
    assert missing_labels("Version 1.0 says so.", ["Constitution (v1.0)"]) == ()


@pytest.mark.parametrize(
    ("sentence", "known"),
    [
        ("It has Foundation Documents.", "a Foundation Document"),
        ("In the Leader's election it is so.", "the project leader"),
        ("By the Developers' will, Policies change.", "a developer and a policy"),
    ],
)
def test_a_name_is_known_in_another_number_or_case(sentence: str, known: str) -> None:
    assert missing_names(sentence, [known]) == ()


def test_who_counts_what_is_told_measures_nothing() -> None:
    assert missing_figures("Two terms and three important changes stayed.", ["They stayed."]) == ()
    assert missing_figures("Two plants stayed.", ["They stayed."]) == ("Two",)


def test_a_sentence_may_begin_with_the_name_of_a_file_or_after_a_citation_in_lower_case() -> None:
    text = "It fell. policy.pdf says so [c1234567]. iSense agrees, e.g. in part. But not all."
    assert sentences_of(text) == (
        "It fell.",
        "policy.pdf says so [c1234567].",
        "iSense agrees, e.g. in part.",
        "But not all.",
    )
