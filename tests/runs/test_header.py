"""The header says what the notebook imports, in the versions there were, and leaves alone what stands in it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cellwright.errors import UserError
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.script_header import header_of, requirements_for
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, apply_edits
from cellwright.notebook.marimo_file import parse_notebook
from cellwright.notebook.render import render
from cellwright.runs.deliver.header import (
    distributions_used,
    installed_packages,
    local_modules,
    with_header,
)

INSTALLED = installed_packages()
VERSIONS = {
    "altair": "6.3.0", "beautifulsoup4": "4.1", "duckdb": "2.0.0", "google-auth": "2.6", "google-genai": "3.1",
    "lxml": "5", "marimo": "0.25.2", "matplotlib": "3.11.2", "numpy": "2.4", "openpyxl": "3.1", "pandas": "3.1.1",
    "plotly": "6", "polars": "2.1.0", "pyarrow": "26.0.1", "pyyaml": "6.0.3", "scikit-learn": "1.9.1",
    "sqlalchemy": "2.1", "sqlglot": "30.30.0", "torch": "2.4.0+cpu", "cellwright": "0.1.0",
}  # fmt: skip
OWNERS = {
    "altair": ["altair"], "bs4": ["beautifulsoup4"], "duckdb": ["duckdb"], "google": ["google-auth", "google-genai"],
    "marimo": ["marimo"], "matplotlib": ["matplotlib"], "numpy": ["numpy"], "pandas": ["pandas"], "polars": ["polars"],
    "sklearn": ["scikit-learn"], "torch": ["torch"], "yaml": ["PyYAML"], "pyarrow": ["pyarrow"],
}  # fmt: skip

OURS = ".".join(map(str, sys.version_info[:2]))
"""Which Python a new header asks for: the one it was proven with."""


def notebook(*codes: str, header: str = "") -> Document:
    document = apply_edits(Document.new(header=header), [CreateCell(code=code) for code in codes])
    assert isinstance(document, Document)
    return document


def used(*codes: str, local: frozenset[str] = frozenset()) -> list[str]:
    return sorted(distributions_used(notebook(*codes), VERSIONS, owners=OWNERS, local=local) - {"marimo"})


def test_a_notebook_without_a_header_gets_one_that_names_what_it_imports() -> None:
    document = notebook("import marimo as mo\nimport os, re", "import pandas as pd\nfrom sklearn import svm", "x = 1")
    text = render(with_header(document, installed=VERSIONS, owners=OWNERS)).replace(f">={OURS}", ">=3.11")
    assert text[: text.index("import marimo")] == snapshot("""\
# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "marimo==0.25.2",
#     "pandas==3.1.1",
#     "scikit-learn==1.9.1",
# ]
# ///

""")


def test_a_header_that_names_everything_stays_the_same_object() -> None:
    document = with_header(notebook("import pandas"), installed=VERSIONS, owners=OWNERS)
    assert with_header(document, installed=VERSIONS, owners=OWNERS) is document


@pytest.mark.parametrize(
    "header",
    [
        '# /// script\n# requires-python = ">=3.10"\n# dependencies = ["pandas>=2",  "marimo"]  # mine\n# ///\n',
        '# /// script\n# dependencies = [\n#     # the one we need\n#     "pandas>=2",\n#     "marimo",\n# ]\n# ///\n',
        '"""Words."""\n# /// script\n# dependencies = ["Pandas[excel] >=2; python_version > \'3\'", "marimo"]\n# ///\n',
    ],
)
def test_what_stands_in_a_header_stays_as_it_is_and_only_what_is_missing_is_added(header: str) -> None:
    document = with_header(notebook("import pandas, yaml", header=header), installed=VERSIONS, owners=OWNERS)
    after, before = header_of(document.header), header_of(header)
    assert after is not None and before is not None
    assert set(after.dependencies) == {*before.dependencies, "pyyaml==6.0.3"}
    assert after.requires_python == (before.requires_python or f">={OURS}")
    for line in header.splitlines():
        if "pandas" in line.lower():
            assert line[line.lower().index("pandas") :] in document.header


def test_rows_of_a_connection_that_become_pandas_need_pandas() -> None:
    codes = ("import cellwright_cells as cellwright", "cellwright.connection('s').sql('select 1').to_pandas()")
    assert {"pandas", "pyarrow"} <= set(used(*codes))


@pytest.mark.parametrize("way", ["import cellwright_cells as cellwright", "from cellwright_cells import connection"])
def test_a_notebook_that_names_connections_asks_for_what_it_writes_and_reads_with(way: str) -> None:
    document = notebook(way, "shop = cellwright.connection('shop')", "import pandas\npandas.read_sql('select 1', shop)")
    versions = VERSIONS | {"adbc-driver-manager": "1.13.0"}
    text = with_header(document, installed=versions, owners=OWNERS).header.replace(f">={OURS}", ">=3.11")
    assert text == snapshot("""\
# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "adbc-driver-manager==1.13.0",
#     "cellwright-cells>=0.1.0",
#     "marimo==0.25.2",
#     "pandas==3.1.1",
#     "pyarrow==26.0.1",
#     "sqlalchemy==2.1",
# ]
# ///
""")
    header = header_of(text)
    assert header is not None
    # On the path of every kernel: no index need have it.
    assert not [one for one in requirements_for(header, our_interpreter()) if one.startswith("cellwright")]
    again = with_header(notebook(way, header=text), installed=versions, owners=OWNERS)
    assert again.header == text


def test_a_header_that_asks_for_other_cells_than_ours_is_refused() -> None:
    header = header_of('# /// script\n# dependencies = ["cellwright-cells>=99"]\n# ///\n')
    assert header is not None
    with pytest.raises(UserError, match="Cellwright runs notebooks with 'cellwright-cells=="):
        requirements_for(header, our_interpreter())


def test_a_comment_above_the_cells_stays_below_the_new_header() -> None:
    document = with_header(notebook("import pandas", header="# About penguins.\n"), installed=VERSIONS, owners=OWNERS)
    assert document.header.endswith("# ///\n\n# About penguins.\n")
    assert parse_notebook(render(document), "x").has_same_content(document)


def test_a_header_that_cannot_be_trusted_is_refused() -> None:
    bad = '# /// script\n# dependencies = ["x @ https://example.com/x.whl"]\n# ///\n'
    with pytest.raises(UserError):
        with_header(notebook("import pandas", header=bad), installed=VERSIONS, owners=OWNERS)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os, sys, json", []),
        ("import cellwright", []),
        ("import bs4", ["beautifulsoup4"]),
        ("from yaml import safe_load", ["pyyaml"]),
        ("import google.auth.transport", ["google-auth"]),
        ("from google import genai", ["google-genai"]),
        ("import importlib\nimportlib.import_module('pandas.io')", ["pandas"]),
        ("__import__('numpy')", ["numpy"]),
        ("importlib.import_module(name)", []),
        ("from . import mine", []),
        ("def f():\n    import polars", ["polars"]),
        ("try:\n    import not_there\nexcept ImportError:\n    pass", []),
        ("import evil_typo_squat", []),
        ("this is no python", []),
        ("import numpy.linalg as la", ["numpy"]),
    ],
)
def test_imports_are_found_wherever_they_stand_and_only_what_was_there_is_named(code: str, expected: list[str]) -> None:
    assert used(code) == expected


def test_modules_beside_the_notebook_are_not_packages(tmp_path: Path) -> None:
    for name in ("notebook.py", "yaml.py", "tools/x.py", "data/x.csv", "not-a-name.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    local = local_modules(tmp_path / "notebook.py")
    assert local == {"yaml", "tools"}
    assert used("import yaml, tools, numpy", local=local) == ["numpy"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import pandas as pd\npd.read_parquet('x')", ["pandas", "pyarrow"]),
        ("import pandas as pd\npd.read_excel('x')", ["openpyxl", "pandas"]),
        ("import pandas as pd\npd.read_html('x')", ["lxml", "pandas"]),
        ("import pandas as pd\npd.read_csv('x', engine='pyarrow')", ["pandas", "pyarrow"]),
        ("import pandas as pd\ndf.plot.bar()", ["matplotlib", "pandas"]),
        ("import pandas as pd\ndf.plot(backend='plotly')", ["matplotlib", "pandas", "plotly"]),
        ("import polars as pl\ndf.plot.line()", ["altair", "polars"]),
        ("import polars as pl\ndf.to_pandas()", ["pandas", "polars", "pyarrow"]),
        ("import marimo as mo\nmo.sql('select 1')", ["duckdb", "polars", "pyarrow", "sqlglot"]),
        ("import marimo\nmarimo.ui.altair_chart(x)", ["altair"]),
        ("import polars as pl\npl.sql('select 1')", ["polars"]),
        ("import numpy\nx.plot()", ["numpy"]),
    ],
)
def test_what_other_packages_import_when_they_are_called_is_named_too(code: str, expected: list[str]) -> None:
    assert used(code) == expected


def test_a_call_in_one_cell_counts_for_an_import_in_another() -> None:
    assert used("import marimo as m", "df = m.sql('select 1')") == ["duckdb", "polars", "pyarrow", "sqlglot"]


def test_a_version_of_one_machine_is_pinned_as_everybody_knows_it() -> None:
    document = with_header(notebook("import torch"), installed=VERSIONS, owners=OWNERS)
    assert '"torch==2.4.0"' in document.header


@pytest.mark.slow
def test_the_packages_of_this_process_are_the_ones_a_kernel_without_a_header_has() -> None:
    document = notebook("import marimo as mo\nimport pandas as pd\nimport altair", "mo.sql('select 1')")
    header = header_of(with_header(document, installed=INSTALLED).header)
    assert header is not None
    names = ("altair", "duckdb", "marimo", "pandas", "polars", "pyarrow", "sqlglot")
    assert set(header.dependencies) == {f"{name}=={version(name)}" for name in names}
    assert requirements_for(header, our_interpreter())


def test_deeply_nested_code_is_read_without_falling_over() -> None:
    assert used("x = " + "(" * 150 + "1" + ")" * 150, "import numpy") == ["numpy"]


@pytest.mark.slow
def test_mo_sql_runs_with_what_the_header_names_and_no_other_package_of_its_kind(tmp_path: Path) -> None:
    query = "df = mo.sql('select 42 as answer', output=False)\nprint(df['answer'][0])"
    document = notebook("import marimo as mo", query)
    header = header_of(with_header(document, installed=INSTALLED).header)
    assert header is not None
    script = tmp_path / "n.py"
    script.write_text(render(document))
    named = {one.partition("==")[0] for one in header.dependencies}
    hidden = sorted({"duckdb", "polars", "pandas", "pyarrow", "sqlglot", "altair", "matplotlib"} - named)
    block = (
        f"import runpy, sys\nfor name in {json.dumps(hidden)}:\n    sys.modules[name] = None\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')\n"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", block], capture_output=True, text=True, check=False)
    assert (hidden, ran.stdout.strip()) == (["altair", "matplotlib", "pandas"], "42"), ran.stderr
