"""Files of connections are read, and APIs asked, where a cage has less of the kernel behind it, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.app.web_services import API_SECRET, ApiServer, ObjectServer, asking, name_api, write
from tests.sandbox.conftest import User, command_as, plain_uid

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).parents[2]
FILES = """
import cellwright, pandas
_lake = cellwright.files("lake")
with _lake.open("lake/t/a.csv") as _file:
    print(len(pandas.read_csv(_file)), pandas.read_parquet("cellwright://lake/lake/t/a.parquet")["n"].sum())
"""
OUTSIDE = 'import cellwright\ncellwright.files("lake").cat_file("vault/t/a.csv")'
ASK = "import requests\nprint(requests.get(URL, headers=HEADERS, timeout=20).json()[0]['bird'])"


@pytest.mark.parametrize(("user", "tier"), [("plain", "B"), ("plain without namespaces", "C")])
def test_files_are_read_on_tiers_b_and_c_and_requests_are_sent_where_there_is_a_network_namespace(
    user: User, tier: str, api: ApiServer, store: ObjectServer
) -> None:
    codes = {"files": FILES, "outside": OUTSIDE, "request": asking(api.url("/v1/birds"), ASK)}
    before = len(api.heard)
    with tempfile.TemporaryDirectory() as place:
        home, folder = Path(place, "home"), Path(place, "project")
        home.mkdir(mode=0o700)
        authority = Path(place, "authority.pem")
        authority.write_bytes(api.authority.read_bytes())
        name_api(home, api.connection(tls_ca=str(authority)))
        store.name(home, store.connection())
        write(folder / "notebook.py", "pass")
        for path in (Path(place), *Path(place).rglob("*")):
            os.chown(path, *(2 * [plain_uid() if os.geteuid() == 0 else -1]))
        program = [sys.executable, str(REPOSITORY / "tests/app/tiers_program.py"), tier, str(home), str(folder)]
        environment = {"PATH": "/usr/bin:/bin", "HOME": place, "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}"}
        command = command_as(user, [*program, json.dumps(codes)])
        ran = subprocess.run(
            command, env=environment, cwd="/", text=True, capture_output=True, timeout=240, check=False
        )
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["files"] == f"2 {sum(range(1000))}"
    assert "There is no" in told["outside"]
    assert API_SECRET not in ran.stdout
    if tier == "B":
        assert told["request"] == "wren"
        assert api.heard[before:] == ["GET /v1/birds"]
    else:
        assert "wren" not in told["request"]
        assert api.heard[before:] == []
