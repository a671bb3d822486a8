"""Documentation that can be wrong is tested."""

import re
from pathlib import Path

import pytest

from docs.generate import FOLDER, SHIPPED, pages, shipped_module
from sandbox import __version__
from sandbox.control.routes import CONTROL
from sandbox.world.switches import SWITCHES

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", pages())
def test_a_generated_page_is_what_the_tables_say_now(name):
    written = (FOLDER / name).read_text(encoding="utf-8") if (FOLDER / name).exists() else ""

    assert written == pages()[name], f"docs/generated/{name} is old: run `make golden` and commit"


def test_the_digests_of_the_fixtures_are_those_of_the_files():
    written = SHIPPED.read_text(encoding="utf-8")

    assert written == shipped_module(), "a fixture changed: run `make golden` and commit"


def test_there_is_no_generated_page_that_nobody_writes():
    assert {path.name for path in FOLDER.glob("*")} == set(pages())


def test_the_changelog_begins_with_the_version_of_the_package():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)

    assert headings[0] == __version__


def test_the_readme_lists_every_control_endpoint():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    missing = [
        row.name
        for row in CONTROL
        if f"{row.method} {row.path.removeprefix('/_sandbox')}" not in readme
    ]
    assert missing == []


def test_the_readme_names_every_switch():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [name for name in SWITCHES if f"`{name}`" not in readme] == []


def test_every_link_in_the_docs_leads_somewhere():
    pages_with_links = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages_with_links
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []


def test_decision_records_have_their_four_parts_and_are_numbered_without_gaps():
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))

    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        headings = re.findall(r"^## (.+)$", record.read_text(encoding="utf-8"), re.M)
        assert headings == ["Status", "Context", "Decision", "Consequences"], record.name
