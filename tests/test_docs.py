"""Documentation that can be wrong is tested."""

import re
from pathlib import Path

import pytest

from sandbox import __version__
from sandbox.control.endpoints import OLD_SECRETS_MAX
from sandbox.control.identity import TOKENS_MAX
from sandbox.control.ledger import citations
from sandbox.control.messages import WAIT_S_MAX, WAITS_MAX
from sandbox.control.routes import CONTROL
from sandbox.control.routing import PREFIX
from sandbox.control.stream import STREAMS_MAX
from sandbox.domain.json_text import DEPTH_MAX
from sandbox.domain.switches import SWITCHES
from sandbox.domain.text import KEY_PARTS_MAX
from sandbox.domain.webhooks import ATTEMPTS_MAX, ENDPOINTS_MAX, TIMEOUT_S
from sandbox.scenarios.matcher import NEAR_MISSES_MAX
from sandbox.scenarios.parser import PARTS_MAX, PROBLEMS_MAX
from sandbox.scenarios.queue import QUEUE_MAX, WEBHOOK_FAULTS_MAX
from sandbox.scenarios.words import RULES_MAX, WEBHOOK_RULES_MAX
from sandbox.webhooks.client import CONNECTIONS_MAX
from sandbox.webhooks.receivers import RESPONSE_CHARS_MAX
from sandbox.webhooks.worker import UNDER_WAY_MAX
from sandbox.worlds.coverage_counters import SCENARIOS_MAX
from sandbox.worlds.event_stream import WAITING_MAX
from sandbox.worlds.journal import CAPTURE_BYTES_MAX, REASON_CHARS_MAX
from sandbox.worlds.spec import JOURNAL_ENTRIES_MAX, WORLDS_MAX, WORLDS_PER_TEAM_MAX
from sandbox.worlds.world import MARKS_MAX
from tools.generate import FOLDER, of_tables, pages
from tools.pages.ledger import clauses

ROOT = Path(__file__).parent.parent

LIMITS = {
    "worlds of a server": WORLDS_MAX,
    "worlds of a team": WORLDS_PER_TEAM_MAX,
    "tokens of teams": TOKENS_MAX,
    "requests in the journal of a world": JOURNAL_ENTRIES_MAX,
    "bytes of a body, of a request or an answer, in the journal": CAPTURE_BYTES_MAX,
    "levels of objects and lists in a JSON body or a scenario": DEPTH_MAX,
    "parts of a key, with dots between them, in a TOML file": KEY_PARTS_MAX,
    "characters of a reason in the journal": REASON_CHARS_MAX,
    "mistakes of a scenario that a check lists": PROBLEMS_MAX,
    "near misses of an attempt in the journal": NEAR_MISSES_MAX,
    "next outcomes that wait in a world": QUEUE_MAX,
    "faults for next deliveries that wait in a world": WEBHOOK_FAULTS_MAX,
    "marks of a world": MARKS_MAX,
    "rules of a scenario on attempts": RULES_MAX,
    "rules of a scenario on webhooks": WEBHOOK_RULES_MAX,
    "tables, lists and values of a scenario": PARTS_MAX,
    "webhook endpoints of a world": ENDPOINTS_MAX,
    "old secrets of an endpoint that still sign": OLD_SECRETS_MAX,
    "concurrent attempts at one endpoint": UNDER_WAY_MAX,
    "concurrent attempts of a server": CONNECTIONS_MAX,
    "seconds of an attempt": int(TIMEOUT_S),
    "characters stored of a receiver's answer": RESPONSE_CHARS_MAX,
    "attempts stored of a delivery": ATTEMPTS_MAX,
    "requests that wait for a message of a world": WAITS_MAX,
    "seconds of such a wait": WAIT_S_MAX,
    "streams of a world": STREAMS_MAX,
    "events that wait for the reader of a stream": WAITING_MAX,
    "scenarios that coverage counts by name": SCENARIOS_MAX,
}
"""The rows of docs/limits.md that have a number, in their order, and the constant of each."""


def test_generated_files_match_the_tables():
    old = [
        path.name
        for path, text in of_tables().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert old == [], "run `make golden` and commit"


def test_every_generated_page_has_a_generator():
    assert {path.name for path in FOLDER.glob("*.md")} == set(pages())


@pytest.mark.parametrize("name", ["states.md", "transactions.md", "batches.md"])
def test_every_line_of_a_diagram_is_an_arrow_that_mermaid_can_read(name):
    state = r"(?:\[\*\]|[a-z_]+)"

    diagrams = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", pages()[name], re.S)
    lines = [line for diagram in diagrams for line in diagram.splitlines()]

    assert lines
    # A label ends at a colon or a semicolon; a state of two words would need an alias.
    arrow = re.compile(rf"    {state} --> {state}(?:: [^:;]+)?")
    assert [line for line in lines if not arrow.fullmatch(line)] == []


def test_every_clause_that_a_generated_page_cites_has_an_entry():
    cited = {(name, *one) for name, text in pages().items() for one in citations(text)}

    assert sorted(one for one in cited if one[2] not in clauses()[one[1]]) == []


def test_the_changelog_begins_with_the_version_of_the_package():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)

    assert next(one for one in headings if one != "Unreleased") == __version__


def _rooms_of_the_console():
    script = (ROOT / "sandbox" / "control" / "console" / "main.js").read_text(encoding="utf-8")
    return re.findall(r'\["[a-z]+", "([A-Z][a-z]+)"', script)


def _parts_of_the_package():
    for path in (ROOT / "sandbox").iterdir():
        if not path.name.startswith("_") and path.suffix in ("", ".py"):
            yield path.name if path.suffix else f"{path.name}/"


def _names(folder):
    return [path.name for path in (ROOT / "docs" / folder).glob("*.md") if path.name != "README.md"]


NAMED = [
    ("guides/control-api.md", [f"{one.method} {one.path[len(PREFIX) :]}" for one in CONTROL]),
    ("guides/control-api.md", [f"`{name}`" for name in SWITCHES]),
    ("guides/console.md", [f"\n| {room} |" for room in _rooms_of_the_console()]),
    ("architecture.md", [f"`{part}`" for part in _parts_of_the_package()]),
    ("design/README.md", [f"]({name})" for name in _names("design")]),
    ("README.md", [f"(guides/{name})" for name in _names("guides")]),
]
"""Pages, and what each names: endpoints, switches, rooms, design notes, guides."""


@pytest.mark.parametrize(("page", "names"), NAMED)
def test_a_page_names_everything_in_its_subject(page, names):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")

    assert len(names) > 9
    assert [name for name in names if name not in text] == []


def headings_of(page):
    """The anchors that a page gives its headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_in_the_docs_leads_to_a_file_and_a_heading_that_exist():
    pages_with_links = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = []
    for page in pages_with_links:
        text = page.read_text(encoding="utf-8")
        for path, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            target = page.parent / path if path else page
            if not target.exists():
                broken.append(f"{page.relative_to(ROOT)}: {path}")
            elif heading and target.suffix == ".md" and heading not in headings_of(target):
                broken.append(f"{page.relative_to(ROOT)}: {path}#{heading}")

    assert broken == []


def test_the_limits_are_those_of_the_code():
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    _, _, table = text.partition("| what | limit | beyond the limit |\n|---|---|---|\n")

    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("|")]

    assert [(what.strip(), most) for what, most, _ in rows] == [
        (what, f"{most:,}") for what, most in LIMITS.items()
    ]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_file_that_a_page_for_developers_names_exists(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:sandbox|tests|tools|docs|spec|fixtures|scenarios|benchmarks)/[\w./-]*)`(?! \(new\))",
        text,
    )

    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_no_recipe_has_more_than_eight_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = text.split("\n## Add ")[1:]

    assert len(recipes) == 9
    assert [recipe.splitlines()[0] for recipe in recipes if "\n9. " in recipe] == []


BY_NAME = re.compile(
    r"(uvx|pipx run|uv tool run|pip install|pipx install|uv add)( -\S+)* "
    r"['\"]?(pytest-)?uat-sandbox"
)


def test_no_page_or_message_installs_the_package_by_its_name():
    """The names are not registered: who registers them would run code at every reader's."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guides/*.md")]
    kit = ROOT / "pytest-uat-sandbox"
    sources = [*ROOT.glob("sandbox/**/*.py"), *kit.glob("uat_sandbox/**/*.py"), kit / "README.md"]

    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*pages, *sources]
        for match in BY_NAME.finditer(path.read_text(encoding="utf-8"))
    ]

    assert found == []
