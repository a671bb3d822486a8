"""What the project installs: no version with a known hole, and an image that a digest names."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent

VULNERABLE = {
    # Package: the newest version with a known hole, and its advisory.
    "aiohttp": ("3.14.2", "GHSA-cq5v-8q36-5273"),
    "filelock": ("3.20.2", "CVE-2026-22701"),
    "starlette": ("1.2.9", "CVE-2026-54282"),
}


@pytest.mark.parametrize(("name", "version"), [(name, row[0]) for name, row in VULNERABLE.items()])
def test_no_version_with_a_known_hole_satisfies_the_declared_range(name: str, version: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {one.name: one for one in map(Requirement, project["dependencies"])}
    assert not declared[name].specifier.contains(version)


def test_the_image_is_built_upon_one_that_a_digest_names() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    arguments = dict(line.removeprefix("ARG ").split("=", 1) for line in lines if "ARG " in line)
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2
    for base in bases:
        name = re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], base)
        assert re.fullmatch(r"python:3\.\d+-slim@sha256:[0-9a-f]{64}", name), base
