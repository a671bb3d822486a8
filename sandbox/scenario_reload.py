"""Reloading a scenario when its file changes, while the server runs."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from sandbox.scenarios.parser import ScenarioError, read_scenario
from sandbox.worlds.scenarios import run_scenario
from sandbox.worlds.world import World

LOOKS_EVERY_S: Final = 0.25

log = logging.getLogger("sandbox.scenario_reload")


class ScenarioReloader:
    """Looks at one file, from the moment on at which it is made.

    A file that is replaced by another counts as changed, and so does one that is gone or back.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._look()

    def _look(self) -> tuple[int, int, int] | None:
        """A value that changes with the file; None if there is no file."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    async def watch(self, world: World) -> None:
        """Run each new version of the file in the world, until canceled.

        An unusable version is logged and changes nothing. A change of the file wins over any
        scenario set meanwhile (assumed D24).
        """
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            seen = self._look()
            if seen == self._seen:
                continue
            self._seen = seen
            try:
                await self._read_again(world)
            except Exception:
                log.exception("reading %s again failed: a defect of the sandbox", self._path)

    async def _read_again(self, world: World) -> None:
        try:
            # In a thread: requests are answered meanwhile.
            scenario = await asyncio.to_thread(read_scenario, self._path)
        except ScenarioError as error:
            _complain(str(error), world)
            return
        try:
            run_scenario(world, scenario)
        except ScenarioError as error:
            _complain(f"{self._path}: {error}", world)
            return
        log.info("reloaded scenario %r from %s", scenario.name, self._path)


def _complain(message: str, world: World) -> None:
    goes_on = world.scenario and f"scenario {world.scenario.scenario.name!r} goes on"
    # The message quotes names from the file.
    log.warning("%s; %s", world.profile.scrub(message), goes_on or "no scenario runs")
