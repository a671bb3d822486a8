"""Waiting for something to happen in a world."""

from asyncio import Future, get_running_loop


class Listening:
    """Those who wait until there is a new message, or something came of a delivery."""

    def __init__(self) -> None:
        self._waiting: list[Future[None]] = []

    def tell(self) -> None:
        """It happened: whoever waits goes on."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def wait(self) -> None:
        """Wait until it happens."""
        future: Future[None] = get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)
