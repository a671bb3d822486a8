"""The parts of a soak."""

from tests.soak import isolation, money
from tests.soak.client import in_process
from tests.soak.requesting import play_requests
from tests.soak.rounds import Part, Round


def _requests(round: Round) -> None:
    with in_process(round, round.random) as client:
        play_requests(client)


PARTS = {
    "isolation": Part("a world beside that must notice nothing", isolation.play, 20),
    "money": Part("walks through payments, all money looked at", money.play, 20),
    "requests": Part("made-up requests to both surfaces, right and spoilt", _requests, 25),
}
