"""The linters that teams use find no error in the OpenAPI documents."""

from pathlib import Path

import pytest

from tests.whole.installing import npm_packages, run
from tools.openapi import FOLDER, documents

SPECTRAL = 'extends: ["spectral:oas"]\n'


@pytest.fixture(scope="module")
def commands() -> Path:
    return npm_packages("@redocly/cli@2", "@stoplight/spectral-cli@6") / ".bin"


def test_linters_find_no_error(commands, tmp_path):
    files = [FOLDER / name for name in documents()]
    (tmp_path / ".spectral.yaml").write_text(SPECTRAL, encoding="utf-8")

    redocly = run(commands / "redocly", "lint", *files, cwd=tmp_path)
    spectral = run(commands / "spectral", "lint", "-F", "error", *files, cwd=tmp_path)

    assert "are valid" in redocly
    assert "(0 errors" in spectral or "No results" in spectral


def test_a_document_with_a_wrong_keyword_is_noticed(commands, tmp_path):
    text = (FOLDER / "platform.json").read_text(encoding="utf-8")
    (tmp_path / "broken.json").write_text(text.replace('"minimum"', '"ge"'), encoding="utf-8")

    with pytest.raises(AssertionError, match="`ge` is not expected"):
        run(commands / "redocly", "lint", "broken.json", cwd=tmp_path)
