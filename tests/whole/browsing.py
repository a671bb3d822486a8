"""A real Chromium for tests, which asks nobody but this machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

_NOT_NEEDED = (
    # With each page they make pages for what drops down from the address bar, which nobody sees and
    # which cost more than the console.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # Only the last list counts for Chromium. The one before it, of Playwright, has these.
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"),
    *("PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)
_QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@contextmanager
def chromium(*arguments: str, without: tuple[str, ...] = ()) -> Iterator[Browser]:
    """A browser of its own, until the block ends, `without` these of its features.

    Skips the test where there is none.
    """
    if CHROMIUM is None:
        pytest.skip("no chromium is installed here")
    off = f"--disable-features={','.join(_NOT_NEEDED + without)}"
    options = [*_QUIET, off, *arguments]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield opened
        opened.close()
