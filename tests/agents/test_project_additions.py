"""What a project brings along: read through no link, hashed whole, accepted by a person, shown as untrusted data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cellwright.agents.project_additions import Addition, find_additions, fingerprint_of, roles_with, skills_of
from cellwright.agents.trust_question import question_text
from cellwright.agents.trust_store import TrustStore
from cellwright.errors import UserError

ROLE = "---\nname: coder\ndescription: Works faster.\ntools: [look, apply]\n---\nWrite short cells.\n"
SKILL = "---\nname: rates\ndescription: How we convert.\n---\nUse table.csv.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    put(folder, "roles/coder.md", ROLE)
    put(folder, "skills/rates/SKILL.md", SKILL)
    put(folder, "skills/rates/table.csv", "EUR,1.1\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state")


def put(project: Path, path: str, text: str) -> Path:
    file = project / ".cellwright" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def hashes(project: Path) -> dict[str, str]:
    return {each.path: each.sha256 for each in find_additions(project).sound()}


def asked(store: TrustStore, project: Path) -> str:
    return question_text(store.look_at(project), lambda text: text.replace("hunter2", "****"))


# ── reading ──


def test_a_project_without_any_brings_nothing_along(tmp_path: Path) -> None:
    assert find_additions(tmp_path).sound() == ()


def test_a_role_is_its_file_and_a_skill_its_whole_folder(project: Path) -> None:
    put(project, "skills/rates/more/notes.txt", "Weekends have Friday's rate.")
    put(project, "skills/README.md", "No skill.")
    role, skill = find_additions(project).sound()
    assert (role.kind, role.path, role.files) == ("role", ".cellwright/roles/coder.md", {"": ROLE})
    assert skill.path == ".cellwright/skills/rates"
    assert set(skill.files) == {"SKILL.md", "table.csv", "more/notes.txt"}
    assert roles_with([role, skill])["coder"].prompt == "Write short cells."
    assert [each.name for each in skills_of([role, skill])] == ["rates"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("table.csv", b"EUR,1.2\n"),
        ("table.csv", b"EUR,1.1\r\n"),
        ("table.csv", b"\xff"),
        ("table.csv", None),
        ("new.txt", b""),
        ("SKILL.md", f"{SKILL}\n".encode()),
    ],
)
def test_whatever_changes_in_a_skills_folder_makes_it_another_one(
    project: Path, name: str, content: bytes | None
) -> None:
    before, file = hashes(project), project / ".cellwright/skills/rates" / name
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_bytes(content)
    after = hashes(project)
    assert after[".cellwright/skills/rates"] != before[".cellwright/skills/rates"]
    assert after[".cellwright/roles/coder.md"] == before[".cellwright/roles/coder.md"]


def test_a_file_under_another_name_makes_it_another_one(project: Path) -> None:
    before, table = hashes(project), project / ".cellwright/skills/rates/table.csv"
    table.rename(table.with_name("tables.csv"))
    assert hashes(project) != before


def test_bytes_that_are_no_text_differ_even_where_they_read_the_same(project: Path) -> None:
    table = project / ".cellwright/skills/rates/table.csv"
    table.write_bytes(b"\xff")
    [_, first] = find_additions(project).sound()
    table.write_bytes(b"\xfe")
    [_, second] = find_additions(project).sound()
    assert first.files == second.files
    assert first.sha256 != second.sha256


def link_role(project: Path) -> None:
    (project / "outside.md").write_text(ROLE.replace("coder", "other"))
    (project / ".cellwright/roles/other.md").symlink_to(project / "outside.md")


def link_roles(project: Path) -> None:
    (project / ".cellwright/roles").rename(project / "roles")
    (project / ".cellwright/roles").symlink_to(project / "roles")


def link_all(project: Path) -> None:
    (project / ".cellwright").rename(project / "elsewhere")
    (project / ".cellwright").symlink_to(project / "elsewhere")


def link_skill(project: Path) -> None:
    (project / ".cellwright/skills/other").symlink_to(project / ".cellwright/skills/rates")


def link_skill_file(project: Path) -> None:
    file = put(project, "skills/other/SKILL.md", "")
    file.unlink()
    file.symlink_to(project / ".cellwright/skills/rates/SKILL.md")


def no_plain_file(project: Path) -> None:
    os.mkfifo(project / ".cellwright/roles/pipe.md")


def long_role(project: Path) -> None:
    put(project, "roles/long.md", ROLE.replace("coder", "long") + "x" * 40_000)


def long_skill(project: Path) -> None:
    put(project, "skills/other/SKILL.md", SKILL.replace("rates", "other") + "x" * 300_000)


def many_files(project: Path) -> None:
    for number in range(201):
        put(project, f"skills/rates/{number}.txt", "")


def much_in_all(project: Path) -> None:
    for number in range(11):
        put(project, f"skills/rates/{number}.txt", "x" * 199_000)


def no_utf8(project: Path) -> None:
    (project / ".cellwright/roles/other.md").write_bytes(ROLE.encode() + b"\xff")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (link_role, "roles/other.md' is a link"),
        (link_roles, "'.cellwright/roles' is a link"),
        (link_all, "'.cellwright' is a link"),
        (link_skill, "skills/other' is a link"),
        (link_skill_file, "skills/other/SKILL.md' is a link"),
        (no_plain_file, "pipe.md' is no plain file"),
        (long_role, "long.md' is larger than 32,768 bytes"),
        (long_skill, "skills/other/SKILL.md' is larger than 200,000 bytes"),
        (many_files, "skills/rates' holds more than 200 files"),
        (much_in_all, "skills/rates is too much"),
        (no_utf8, "Cannot read '.cellwright/roles/other.md'"),
    ],
)
def test_what_cannot_be_read_as_it_is_is_told_and_is_no_addition(
    project: Path, spoil: Callable[[Path], None], says: str
) -> None:
    spoil(project)
    found = find_additions(project)
    with pytest.raises(UserError) as caught:
        found.sound()
    assert says in caught.value.message
    assert caught.value.hint
    assert not [each for each in found.additions if each.path in says]


def test_links_and_huge_files_beside_a_skills_text_are_never_served(project: Path) -> None:
    (project / "secret.txt").write_text("no")
    (project / ".cellwright/skills/rates/link.txt").symlink_to(project / "secret.txt")
    put(project, "skills/rates/huge.csv", "x" * 300_000)
    [_, skill] = find_additions(project).sound()
    assert set(skill.files) == {"SKILL.md", "table.csv"}
    assert skill.too_large == ("huge.csv",)


# ── accepting ──


def test_what_was_accepted_is_so_until_it_changes_or_is_revoked(project: Path, store: TrustStore) -> None:
    assert store.look_at(project).accepted == ()
    store.accept(project, find_additions(project).sound(), by="ada")
    assert [each.path for each in store.look_at(project).accepted] == [*hashes(project)]
    put(project, "skills/rates/table.csv", "EUR,9\n")
    seen = store.look_at(project)
    assert [each.kind for each in seen.accepted] == ["role"]
    assert [each.kind for each in seen.offered] == ["skill"]
    assert [each.addition.kind for each in store.revoke(project)] == ["role", "skill"]
    assert store.look_at(project).accepted == ()
    assert store.all() == ()


def test_an_acceptance_is_of_one_project_wherever_its_path_is_named_from(
    project: Path, store: TrustStore, tmp_path: Path
) -> None:
    store.accept(project, find_additions(project).sound(), by="ada")
    (tmp_path / "link").symlink_to(project)
    assert store.look_at(tmp_path / "link").offered == ()
    moved = project.rename(tmp_path / "moved")
    assert store.look_at(moved).accepted == ()
    assert [each.addition.path for each in store.revoke(project)]


def test_acceptances_are_private_and_one_that_is_spoilt_asks_again(project: Path, store: TrustStore) -> None:
    store.accept(project, find_additions(project).sound(), by="ada")
    files = sorted((store.state / "trusted-projects").glob("*/*.json"))
    assert {file.parent.stat().st_mode & 0o077 for file in files} == {0}
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    assert store.look_at(project).accepted == ()
    assert store.all() == ()


def test_a_fingerprint_names_exactly_what_is_offered(project: Path) -> None:
    first = find_additions(project).sound()
    assert fingerprint_of(first) == fingerprint_of(reversed(first))
    put(project, "skills/rates/table.csv", "EUR,9\n")
    assert fingerprint_of(find_additions(project).sound()) != fingerprint_of(first)


# ── what the person reads ──


def test_the_question_shows_everything_and_marks_what_the_project_wrote(project: Path, store: TrustStore) -> None:
    assert (
        asked(store, project)
        == f"""\
May agents go by 1 role and 1 skill of this project?
Project: {project}
They are files of the project, shown behind "│": nothing there is said by Cellwright.

Role 'coder', IN PLACE OF the built-in role of that name
Path: .cellwright/roles/coder.md
Description:
│ Works faster.
Tools:
│ look apply
Model: smart, at most 30 steps and 600,000 tokens
Text:
│ ---
│ name: coder
│ description: Works faster.
│ tools: [look, apply]
│ ---
│ Write short cells.

Skill 'rates'
Path: .cellwright/skills/rates
Description:
│ How we convert.
File SKILL.md:
│ ---
│ name: rates
│ description: How we convert.
│ ---
│ Use table.csv.
File table.csv:
│ EUR,1.1

Accepted, exactly these count in this run and later ones, until one of them changes."""
    )


def test_no_line_of_the_project_passes_for_one_of_ours(project: Path, store: TrustStore) -> None:
    forged = "Tools: none\rTools: none\n\u2028Accepted by your team.\u202e\x1b[2J\nhunter2"
    put(project, "roles/coder.md", ROLE + forged)
    put(project, "skills/rates/a\nTools: none.txt", "x")
    lines = asked(store, project).split("\n")
    assert [line for line in lines if line.startswith("Tools")] == ["Tools:"]
    assert "│ Tools: none\\u000dTools: none" in lines
    assert "│ \\u2028Accepted by your team.\\u202e\\u001b[2J" in lines
    assert "│ ****" in lines
    assert "File a\\u000aTools: none.txt:" in lines


def test_a_line_is_broken_before_a_terminal_breaks_it_where_ours_begin(project: Path, store: TrustStore) -> None:
    long = f"x{' ' * 77}Tools: none"
    put(project, "roles/coder.md", f"{ROLE}{' ' * 78}Tools: none\n{'界' * 50}\n".replace("Works faster.", f'"{long}"'))
    put(project, f"skills/rates/{long}", "x")
    lines = asked(store, project).split("\n")
    assert all(len(line) < 80 for line in lines if not line.startswith(("Project: ", "They are ", "Accepted, ")))
    assert "┊   Tools: none" in lines
    assert f"│ {'界' * 38}" in lines
    assert f"┊ {'界' * 12}" in lines


def test_a_change_is_shown_as_a_difference_file_by_file(project: Path, store: TrustStore) -> None:
    put(project, "skills/rates/old.txt", "x")
    store.accept(project, find_additions(project).sound(), by="ada")
    put(project, "skills/rates/table.csv", "EUR,9\n")
    put(project, "skills/rates/new.txt", "y")
    (project / ".cellwright/skills/rates/old.txt").unlink()
    text = asked(store, project)
    assert "May agents go by 1 skill of this project?" in text
    assert "Changed since ada accepted it on " in text
    assert text[text.index("File SKILL.md:") :].startswith(
        "File SKILL.md: as it was\nFile new.txt:\n│ y\nFile old.txt: gone\n"
        "File table.csv:\n│ @@ -1 +1 @@\n│ -EUR,1.1\n│ +EUR,9\n"
    )
    assert "coder" not in text


def test_texts_that_are_too_long_are_said_to_be_cut_and_never_compared_for_hours(
    project: Path, store: TrustStore
) -> None:
    put(project, "skills/rates/table.csv", "a\nb\n" * 20_000)
    store.accept(project, find_additions(project).sound(), by="ada")
    put(project, "skills/rates/table.csv", "b\na\n" * 20_000)
    text = asked(store, project)
    assert "Too long to be compared; all of it as it is now:" in text
    assert "… and 40,000 characters that are not shown here: read the file itself before you accept it." in text


def test_an_addition_is_read_from_what_was_kept_and_no_file(project: Path) -> None:
    role, skill = find_additions(project).sound()
    assert isinstance(role, Addition)
    for file in project.rglob("*.*"):
        if file.is_file():
            file.unlink()
    assert roles_with([role])["coder"].prompt == "Write short cells."
    assert skill.skill().files["table.csv"] == "EUR,1.1\n"
