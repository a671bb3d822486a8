"""`kill -9` under load now and then: what was acknowledged is there afterwards, once."""

from tests.soak.rounds import Round
from tests.state.saved_worlds import KINDS
from tests.webhooks.receiving import receiving

KILLS = 2


def play(round: Round) -> None:
    """A file under servers that are killed one after the other."""
    kind = round.random.choice(KINDS)
    with receiving() as receiver:
        path = round.folder / f"state.{kind}"
        ordeal = round.means.ordeal(path, receiver, seed=round.random.randrange(2**31))
        try:
            ordeal.run(KILLS)
        finally:
            round.counts["killed"] += ordeal.numbers.kills
            round.counts["requests"] += ordeal.numbers.acknowledged + ordeal.numbers.unanswered
            round.counts["2xx"] += ordeal.numbers.acknowledged
            round.counts["silent"] += ordeal.numbers.unanswered
            round.counts["swept"] += ordeal.numbers.kills
