"""The parts of a soak, and how much of its time each gets."""

from tests.soak import files, isolation, kills, money, requesting, scenarios, snapshots, sockets
from tests.soak.rounds import Part

PARTS = {
    "requests": Part("made-up requests to both surfaces, right and spoilt", requesting.play, 24),
    "isolation": Part("a world beside such requests, which notices nothing", isolation.play, 20),
    "money": Part("walks through payments, with a look at all the money", money.play, 20),
    "snapshots": Part("saved worlds that were edited, and put back", snapshots.play, 12),
    "scenarios": Part("scenarios that were written by chance", scenarios.play, 12),
    "sockets": Part("bytes on a real socket that are almost requests", sockets.play, 6),
    "files": Part("state files in which something was lost or changed", files.play, 4),
    "kills": Part("kill -9 under load, and a start on the same file", kills.play, 4),
}
"""In the order in which they are played first."""
