"""The console as one file, for the report of a test run: captures are put into it.

The policy of the page names the hashes of its script and of its style sheet; nothing else runs, and
nothing is loaded.
"""

import gzip
import hashlib
from base64 import b64encode
from functools import cache
from typing import Final

from pydantic_core import to_json

from sandbox.control import console_script
from sandbox.control.ledger import read_ledger
from sandbox.control.rows import ControlRequest, Written

CAPTURES_BELONG_HERE: Final = "<!-- captures -->"
"""The place of captures: scripts of the type application/gzip with gzipped JSON in base64."""

_PAGE: Final = """<!doctype html>
<html lang="en" class="report">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>uat-sandbox report</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript><h1>uat-sandbox report</h1><p>This report needs scripts, which this browser does not run.
The captures beside it can be opened with <code>sandbox world open</code>.</p></noscript>
<script type="application/gzip" data-ledger>{ledger}</script>
{captures}
<script type="module">{script}</script>
</body>
</html>
"""

_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def page(request: ControlRequest) -> Written[str]:
    """The console as one file without a capture. Source: assumed D25-reports."""
    return Written(whole_page())


@cache
def whole_page() -> bytes:
    """The page in UTF-8, with CAPTURES_BELONG_HERE where captures go."""
    script, style = console_script.script(), console_script.style_sheet()
    # Either would end the element that holds the script.
    assert "</script" not in script
    assert "<!--" not in script
    clauses = read_ledger()
    shown = [{**one, "tests": None} for one in clauses["clauses"]]
    ledger = gzip.compress(to_json({**clauses, "clauses": shown}), mtime=0)
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    text = _PAGE.format(
        policy=policy,
        style=style,
        ledger=b64encode(ledger).decode(),
        captures=CAPTURES_BELONG_HERE,
        script=script,
    )
    return text.encode()


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
