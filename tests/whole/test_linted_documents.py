"""The linters that teams use find no error in the OpenAPI documents."""

from tests.whole.installing import npm_packages, run
from tools.openapi import FOLDER, documents

SPECTRAL = 'extends: ["spectral:oas"]\n'


def test_linters_find_no_error(tmp_path):
    commands = npm_packages("@redocly/cli@2", "@stoplight/spectral-cli@6") / ".bin"
    files = [FOLDER / name for name in documents()]
    (tmp_path / ".spectral.yaml").write_text(SPECTRAL, encoding="utf-8")

    redocly = run(commands / "redocly", "lint", *files, cwd=tmp_path)
    spectral = run(commands / "spectral", "lint", "-F", "error", *files, cwd=tmp_path)

    assert "are valid" in redocly
    assert "(0 errors" in spectral or "No results" in spectral
