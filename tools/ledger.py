"""Writes the ledger with the name of every test: `make ledger`. The repository does not keep it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tools.pages import ledger

FOLDER: Final = Path(__file__).parents[1] / "build"


def main() -> None:
    """Write the whole ledger as a page and as JSON, and print the paths."""
    FOLDER.mkdir(exist_ok=True)
    page, document = FOLDER / "ledger.md", FOLDER / "ledger.json"
    page.write_text(ledger.ledger(whole=True), encoding="utf-8")
    clauses = [asdict(entry) for entry in ledger.entries()]
    document.write_text(json.dumps(clauses, indent=1) + "\n", encoding="utf-8")
    print(f"{len(clauses)} clauses: {page} and {document}")


if __name__ == "__main__":
    main()
