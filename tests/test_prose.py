"""The words that texts avoid, with what to write instead."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

AVOIDED = {
    r"nobody|no one": "name the actor, or use the passive",
    r"somebody|anybody|whoever": "name the actor: a client, an operator, a cardholder",
    r"anew": "again",
    r"so many": "at most N, or a number of",
    r"any more": "no longer",
    r"(?<!there )is no(?! longer)": "is not a valid",
    r"heeds?|heeded": "apply, or ignore",
    r"spoil\w*|spoilt": "inject a fault",
    r"in vain": "without success",
    r"hears?": "receive, or listen to",
    r"lies? here": "appear here",
    r"(?:\w+_)?(?:leases?|epochs?|(?:heart)?beats?|fenc(?:es?|ed|ing))(?:_\w+)?": (
        "PostgreSQL decides who owns a world: session, commit, sign of life"
    ),
}
"""Patterns of words, and what to write instead. Source: the project's rules for prose."""

INTERFACE = (
    "def spoil(",
    "sandbox.spoil(",
    "`spoilt` names",
    "spoilt:",
    "spoilt=",
    "head.spoilt",
)
"""Uses of two names that users of the test kit and the control API rely on."""


def _texts() -> list[tuple[str, str]]:
    """All texts that a reader meets: pages, the code of the product, the names of tests."""
    pages = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    pages += [path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts]
    for folder in ("sandbox", "pytest-uat-sandbox", "tools"):
        pages += (ROOT / folder).rglob("*.py")
    pages += [path for path in (ROOT / "sandbox").rglob("*.js") if "vendor" not in path.parts]
    texts = [(str(path.relative_to(ROOT)), path.read_text()) for path in pages]
    for path in (ROOT / "tests").rglob("test_*.py"):
        names = re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
        texts.append((str(path.relative_to(ROOT)), "\n".join(names).replace("_", " ")))
    return texts


def test_a_word_to_avoid_is_not_used() -> None:
    interface = re.compile("|".join(map(re.escape, INTERFACE)))
    texts = [(place, interface.sub("", text)) for place, text in _texts()]

    found = [
        f"{place}: {match.group()}: write: {advice}"
        for word, advice in AVOIDED.items()
        for place, text in texts
        for match in re.finditer(rf"\b(?:{word})\b", text, re.IGNORECASE)
    ]

    assert found == []
