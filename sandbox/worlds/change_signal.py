"""Waiting for something to happen in a world."""

from asyncio import Future, get_running_loop


class ChangeSignal:
    """Those who wait until there is a new message, or something came of a delivery."""

    def __init__(self) -> None:
        # A dictionary as an ordered set.
        self._waiting: dict[Future[None], None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def tell(self) -> None:
        """It happened: whoever waits goes on."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def wait(self) -> None:
        """Wait until it happens."""
        future: Future[None] = get_running_loop().create_future()
        self._waiting[future] = None
        try:
            await future
        finally:
            self._waiting.pop(future, None)
