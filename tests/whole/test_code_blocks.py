"""Every code block of README and guides runs, or is read by what it is meant for."""

import contextlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.app import build
from sandbox.cli.serve import serve
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import parse_scenario
from sandbox.settings import read_profile
from tests.whole.blocks import PREPARED, STAND_INS, Block, blocks_of, documents, markers_of
from tests.whole.narrating import Failed, Narrative


@pytest.fixture
def narrative(
    packages: Any, tester: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Narrative]:
    narrative = Narrative(tmp_path, tester, packages.wheel, packages.kit)
    with contextlib.suppress(pytest.skip.Exception):
        modules = request.getfixturevalue("node_modules")
        (narrative.folder / "node_modules").symlink_to(modules)
    yield narrative
    narrative.close()


# --- what is done with a block, by its language -------------------------------------------------


def in_the_shell(narrative: Narrative, block: Block) -> None:
    if block.file_name:
        narrative.write(block, block.file_name)
        return
    prepare(narrative, block)
    narrative.shell(block.text)


def as_transcript(narrative: Narrative, block: Block) -> None:
    """The commands behind `$` are run; what was answered is to be looked at."""
    commands = re.findall(r"^\$ (.+)$", block.text, re.MULTILINE)
    if commands:
        prepare(narrative, block)
        narrative.shell("\n".join(commands))


def prepare(narrative: Narrative, block: Block) -> None:
    for row in PREPARED:
        if row.document == block.document and row.fragment in block.text:
            narrative.shell(row.shell)


def as_python(narrative: Narrative, block: Block) -> None:
    name = block.file_name or f"test_line_{block.line}.py"
    path = narrative.write(block, name)
    if path.name == "conftest.py":
        return
    if re.search(r"^ *(async )?def test_", block.text, re.MULTILINE):
        narrative.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", path)
    else:
        narrative.run("python", path)


def as_toml(narrative: Narrative, block: Block) -> None:
    """A scenario is rehearsed, a profile read; settings of a tool must be TOML."""
    content = tomllib.loads(block.text)
    path = narrative.write(block, block.file_name or f"line_{block.line}.toml")
    if {"rule", "webhook", "endpoint", "example"} & content.keys():
        mistakes = [
            mistake
            for step in run_examples(parse_scenario({"name": "shown"} | content), build)
            for mistake in step.mistakes
        ]
        if mistakes:
            raise Failed("\n".join(map(str, mistakes)))
    elif "api_key_header" in content:
        read_profile(path)
    elif content.keys() - {"tool", "project"}:
        raise Failed("is neither a scenario nor a profile nor settings of a tool")


def as_json(narrative: Narrative, block: Block) -> None:
    content = json.loads(block.text)
    if block.file_name is None and not isinstance(content, dict | list):
        raise Failed("is neither an object nor a list")


def as_javascript(narrative: Narrative, block: Block) -> None:
    path = narrative.write(block, block.file_name or f"line_{block.line}.mjs")
    # Where there is no node, test_node.py is skipped and says so.
    if (narrative.folder / "node_modules").exists():
        around = ("sandbox", "run", "--") if "SANDBOX_KEY" in block.text else ()
        narrative.run(*around, "node", path)


def as_program(narrative: Narrative, block: Block) -> None:
    """Commands after it run it, or test_generated_clients.py does, which makes its client."""
    narrative.write(block, str(block.file_name))


def as_yaml(narrative: Narrative, block: Block) -> None:
    """Jobs are run, step by step; of a compose file the options of the sandbox are read."""
    content = yaml.safe_load(block.text)
    if "services" in content:
        for service in content["services"].values():
            if service.get("image") == "uat-sandbox":
                serve.make_context("serve", list(service.get("command", [])))
    elif "jobs" in content:
        for job in content["jobs"].values():
            as_github_job(narrative, job)
    elif any("script" in job for job in content.values()):
        for job in content.values():
            narrative.step("\n".join([*job.get("before_script", ()), *job["script"]]))
            must_be_there(narrative, job.get("artifacts", {}).get("paths", ()))
    else:
        raise Failed("is neither a compose file nor a job of GitHub or GitLab")


def as_github_job(narrative: Narrative, job: dict[str, Any]) -> None:
    variables = "".join(f"export {name}={value}\n" for name, value in job.get("env", {}).items())
    for step in job["steps"]:
        if "run" in step:
            narrative.step(variables + step["run"])
        elif "upload-artifact" in step["uses"]:
            must_be_there(narrative, step["with"]["path"].split())


def must_be_there(narrative: Narrative, kept: Iterable[str]) -> None:
    """What a job keeps, it has to have made."""
    missing = [name for name in kept if not list(narrative.folder.glob(name))]
    if missing:
        raise Failed(f"{', '.join(missing)}: is kept, and not there")


def not_at_all(narrative: Narrative, block: Block) -> None:
    """What is to be looked at."""


LANGUAGES: dict[str, Callable[[Narrative, Block], None]] = {
    "sh": in_the_shell,
    "python": as_python,
    "toml": as_toml,
    "json": as_json,
    "js": as_javascript,
    "java": as_program,
    "ts": as_program,
    # test_generated_clients.py runs it, beside the client that it takes.
    "go": not_at_all,
    "yaml": as_yaml,
    "text": as_transcript,
    "mermaid": not_at_all,
}
OF_THE_SHELL = ("sh", "text")


# --- tests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", [name for name in documents() if blocks_of(name)])
def test_every_block_of_a_document_does_what_it_says(document, narrative):
    failed = []
    is_stuck = False

    first = next((block for block in blocks_of(document) if block.language == "sh"), None)
    if first and not re.search(r"sandbox serve|make run", first.text):
        narrative.shell("sandbox serve")
    for block in blocks_of(document):
        if is_stuck and block.language in OF_THE_SHELL:
            continue
        try:
            LANGUAGES[block.language](narrative, block)
        except Exception as error:
            # A shell that ended has lost its variables; what follows would fail for that alone.
            is_stuck = is_stuck or block.language in OF_THE_SHELL
            failed.append(f"{block}\n\n{block.text}\n--- said\n{error or type(error).__name__}")

    assert not failed, "\n\n".join(failed)


def test_every_marker_opens_or_closes_a_block_of_a_known_language():
    for document in documents():
        blocks = blocks_of(document)

        assert [str(block) for block in blocks if block.language not in LANGUAGES] == []
        assert markers_of(document) == 2 * len(blocks), document


def test_code_blocks_with_a_special_run_exist_in_the_pages():
    blocks = [block for name in documents() for block in blocks_of(name)]
    for row in STAND_INS:
        whole_line = re.compile(rf"^{row.pattern}$", re.MULTILINE)
        assert any(whole_line.search(block.text) for block in blocks), row.pattern
    for prepared in PREPARED:
        there = [block for block in blocks_of(prepared.document) if prepared.fragment in block.text]
        assert len(there) == 1, prepared.fragment
