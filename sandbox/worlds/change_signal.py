"""A signal for changes in a world, such as a new message."""

from asyncio import Future, get_running_loop


class ChangeSignal:
    """Wakes coroutines that wait for a new message or the result of an attempt."""

    def __init__(self) -> None:
        # A dictionary as an ordered set.
        self._waiting: dict[Future[None], None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def tell(self) -> None:
        """Wake everything that waits."""
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
