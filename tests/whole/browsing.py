"""A real Chromium for tests, which asks nobody but this machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

_QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """A browser of its own, until the block ends. Skips the test where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed here")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=[*_QUIET, *arguments])
        yield opened
        opened.close()
