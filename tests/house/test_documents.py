"""The runner of the documentation runs what it says it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.documents import Block, NotRunnable, read_blocks, run_page, script_of

PAGE = """
Some words.

<!-- expect: 42 -->
<!-- exit: 3 -->
```python
print(42)
raise SystemExit(3)
```

- in a list

    ```json title="edits.json"
    [1]
    ```

```text
never run
```
"""


def test_blocks_are_read_with_their_notes_titles_and_lines() -> None:
    assert read_blocks(PAGE) == [
        Block(line=6, language="python", text="print(42)\nraise SystemExit(3)\n", expect=("42",), exit_code=3),
        Block(line=13, language="json", text="[1]\n", title="edits.json"),
        Block(line=17, language="text", text="never run\n"),
    ]


def test_a_page_that_holds_has_no_complaints(tmp_path: Path) -> None:
    later = "```python\nfrom pathlib import Path\nassert Path('edits.json').read_text() == '[1]\\n'\n```\n"
    assert run_page(PAGE + later, tmp_path) == []


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\n1 / 0\n```\n", "line 1: exit 1, not 0"),
        ("<!-- exit: 1 -->\n```python\npass\n```\n", "line 2: exit 0, not 1"),
        ("\n<!-- expect: 43 -->\n```python\nprint(42)\n```\n", "line 3: '43' is not in\n42"),
    ],
)
def test_a_page_that_does_not_hold_is_told_by_line(page: str, complaint: str, tmp_path: Path) -> None:
    (told,) = run_page(page, tmp_path)
    assert told.startswith(complaint)


def test_the_console_runs_what_stands_behind_the_prompt() -> None:
    block = Block(line=1, language="console", text="$ cellwright doctor\nall well\n$ cellwright notebook show x\n")
    assert script_of(block) == [
        "bash",
        "-euo",
        "pipefail",
        "-c",
        "cellwright doctor\ncellwright notebook show x",
    ]


def test_bash_finds_the_cellwright_of_this_environment(tmp_path: Path) -> None:
    assert run_page("<!-- expect: Usage -->\n```bash\ncellwright --help\n```\n", tmp_path) == []


@pytest.mark.parametrize("text", ["make setup\n", "cellwright doctor\nrm -r x\n", "\n"])
def test_a_shell_block_that_is_not_ours_must_be_marked_as_text(text: str) -> None:
    with pytest.raises(NotRunnable):
        script_of(Block(line=1, language="bash", text=text))
