"""The soak finds what is planted, says how to see it again, and finds nothing where nothing is."""

import asyncio
import json
import logging
import shutil
import socketserver
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.app import Sandbox, build
from tests.soak import __main__ as command
from tests.soak import loop
from tests.soak.isolation import BESIDE
from tests.soak.parts import PARTS
from tests.soak.report import COLUMNS, Report
from tests.soak.rounds import Means, Part, Round, Wanted, soak
from tests.soak.served import Refused, Target
from tests.state.killing import Ordeal
from tests.state.saved_worlds import SavedWorld

Scope = dict[str, Any]
App = Callable[..., Awaitable[None]]
Defect = Callable[[App, Sandbox], App]

IN_PROCESS = ("requests", "isolation", "money", "scenarios", "snapshots")


def soaked(
    tmp_path: Path, part: str, *, means: Means | None = None, rounds: int = 1, first: int = 0
) -> tuple[Report, list[str]]:
    """So many rounds of a part, and what was said meanwhile."""
    said: list[str] = []
    wanted = Wanted(seed=3, minutes=1, parts=(part,), first=first, rounds=rounds)
    return soak(wanted, PARTS, tmp_path, means=means, say=said.append), said


# --- what is planted --------------------------------------------------------------------------


def planted(defect: Defect) -> Means:
    """A sandbox in process that has this defect."""

    def with_defect(*settings: Any, **more: Any) -> Sandbox:
        sandbox = build(*settings, **more)
        return replace(sandbox, app=defect(sandbox.app, sandbox))

    return Means(build=with_defect)


def changed(
    method: str, path: str, change: Callable[[Scope, list[dict[str, Any]], Sandbox], Any]
) -> Defect:
    """Answers to these requests go through `change`, which has the messages of the answer."""

    def defect(app: App, sandbox: Sandbox) -> App:
        async def served(scope: Scope, receive: Any, send: Any) -> None:
            if scope["type"] != "http" or scope["method"] != method or path not in scope["path"]:
                await app(scope, receive, send)
                return
            messages: list[dict[str, Any]] = []

            async def keep(message: dict[str, Any]) -> None:
                messages.append(message)

            await app(scope, receive, keep)
            done = change(scope, messages, sandbox)
            if done is not None:
                await done
            for message in messages:
                await send(message)

        return served

    return defect


def status_of(messages: list[dict[str, Any]]) -> int:
    return int(messages[0]["status"]) if messages else 0


def rewritten(messages: list[dict[str, Any]], change: Callable[[Any], Any]) -> None:
    """The JSON body of the answer, changed, with the length that it then has."""
    body = json.dumps(change(json.loads(messages[1]["body"]))).encode()
    messages[1]["body"] = body
    messages[0]["headers"] = [
        (name, b"%d" % len(body) if name == b"content-length" else value)
        for name, value in messages[0]["headers"]
    ]


def with_status(status: int) -> Callable[..., None]:
    def change(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
        messages[0]["status"] = status

    return change


def without_a_field(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    if status_of(messages) == 200:
        rewritten(messages, lambda body: {k: v for k, v in body.items() if k != "status_reason"})


def without_an_answer(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    messages.clear()


async def _never() -> None:
    await asyncio.Event().wait()


def never_answered(
    scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox
) -> Awaitable[None]:
    return _never()


def fails(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    raise KeyError("planted")


def spins(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    while True:
        pass


def logs_an_error(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    logging.getLogger("sandbox.worlds").error("planted")


def too_long(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    messages[1]["body"] += b" "


def disturbs_the_world_beside(
    scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox
) -> None:
    """What is done in one world counts in the other, as a table that they share would have it."""
    beside = sandbox.worlds.get(BESIDE)
    if beside is not None and status_of(messages) == 200:
        keys = {key.encode() for _, key in beside.cast.keys.values()}
        if not keys & {value for _, value in scope["headers"]}:
            beside.journal.next_id()


def shows_the_world_beside(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    if status_of(messages) == 200 and BESIDE not in scope["path"]:
        rewritten(messages, lambda body: body | {"name": BESIDE})


def a_cent_too_much(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    def change(page: Any) -> Any:
        for tx in page["transactions"]:
            if tx["status"] == "captured":
                tx["refunded"] += 1
        return page

    if status_of(messages) == 200:
        rewritten(messages, change)


def changes_another(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    """Every look at the list finds the oldest payment otherwise than the look before."""
    seen["looks"] = seen.get("looks", 0) + 1

    def change(page: Any) -> Any:
        for tx in page["transactions"][-1:]:
            tx["device_id"] = f"device {seen['looks']}"
        return page

    if status_of(messages) == 200:
        rewritten(messages, change)


seen: dict[str, int] = {}


def a_refused_snapshot_changes_the_world(
    scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox
) -> None:
    if status_of(messages) == 400:
        sandbox.worlds.default.set_switches({"triggers.enabled": False})


def a_refusal_names_no_rule(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    if status_of(messages) == 400:
        rewritten(messages, lambda body: body | {"message": "scenario: something is wrong"})


def applied_without_fitting(scope: Scope, messages: list[dict[str, Any]], sandbox: Sandbox) -> None:
    def change(body: Any) -> Any:
        for rule in body["rules"]:
            rule["applied"] = rule["fitted"] + 1
        return body

    if status_of(messages) == 200:
        rewritten(messages, change)


PLANTED = {
    "a 500": ("requests", 4, changed("GET", "/batches", with_status(500)), "answered 500"),
    "a status of nobody": (
        *("requests", 4, changed("GET", "/v2/terminals", with_status(418))),
        "answers 418, which is not described",
    ),
    "a field that is missing": (
        *("requests", 4, changed("POST", "/v3/payment", without_a_field)),
        "'status_reason' is a required property",
    ),
    "no answer": (
        *("requests", 4, changed("GET", "/switches", without_an_answer)),
        "got no answer",
    ),
    "an answer that never comes": (
        *("requests", 4, changed("GET", "/switches", never_answered)),
        "was not answered in 7200 s",
    ),
    "an application that fails": (
        *("requests", 4, changed("GET", "/switches", fails)),
        "KeyError: 'planted'",
    ),
    "a loop without end": (
        *("requests", 4, changed("GET", "/switches", spins)),
        "it took more than 0.5 s",
    ),
    "an error in the log": (
        *("requests", 4, changed("GET", "/switches", logs_an_error)),
        "the sandbox logged an error: planted",
    ),
    "a length that is wrong": (
        *("requests", 4, changed("GET", "/switches", too_long)),
        "content-length is",
    ),
    "a world that another disturbs": (
        *("isolation", 2, changed("POST", "/v3/p", disturbs_the_world_beside)),
        "the world beside differs in GET",
    ),
    "a world that shows another": (
        *("isolation", 3, changed("GET", "/clock", shows_the_world_beside)),
        f"shows '{BESIDE}' of the world beside",
    ),
    "money from nowhere": (
        *("money", 4, changed("GET", "/v2/transactions", a_cent_too_much)),
        "M4",
    ),
    "a payment that changes with another": (
        *("money", 6, changed("GET", "/v2/transactions", changes_another)),
        "changed too: device_id",
    ),
    "a refused snapshot that changes something": (
        *("snapshots", 3, changed("PUT", "/snapshot", a_refused_snapshot_changes_the_world)),
        "a snapshot that was refused changed the world",
    ),
    "a refusal without a place": (
        *("scenarios", 3, changed("PUT", "/scenario", a_refusal_names_no_rule)),
        "something is wrong; as a document: ",
    ),
    "a rule that applies too often": (
        *("scenarios", 3, changed("GET", "/default/scenario", applied_without_fitting)),
        "fitted",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_defect_that_is_planted_is_found(tmp_path: Path, monkeypatch, name: str):
    part, rounds, defect, words = PLANTED[name]
    monkeypatch.setattr(loop, "WATCH_S", 0.5 if name == "a loop without end" else 10.0)

    report, said = soaked(tmp_path, part, means=planted(defect), rounds=rounds)

    assert any(words in str(one) for one in report.findings), [str(one) for one in report.findings]
    assert any(words in one for one in said)
    assert report.of(part)["findings"] == len(report.findings) <= rounds


# --- what is planted in servers ---------------------------------------------------------------


class Lying(socketserver.StreamRequestHandler):
    """A server that fails at some requests: what it says of each is in `answers`."""

    answers: dict[bytes, bytes]

    def handle(self) -> None:
        sent = self.rfile.readline()
        status = next((self.answers[word] for word in self.answers if word in sent), b"200 OK")
        body = b'{"status": "ok"}'
        self.wfile.write(
            b"HTTP/1.1 %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (status, len(body), body)
        )


def lying(
    answers: dict[bytes, bytes], *, log: str = ""
) -> Callable[..., AbstractContextManager[Target]]:
    """What takes the place of a server that is started."""

    @contextmanager
    def started(folder: Path, *options: str) -> Iterator[Target]:
        handler = type("Handler", (Lying,), {"answers": answers})
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            url = f"http://127.0.0.1:{server.server_address[1]}"
            facts = {
                "url": url,
                "control_url": f"{url}/_sandbox",
                "keys": {"partner": "svc"},
                "terminals": {"merchant": "t"},
            }
            path = folder / "log"
            path.write_text(log, encoding="utf-8")
            for option in options:
                if option.endswith((".json", ".db")) and not Path(option).exists():
                    Path(option).write_bytes(b'{"a": {"b": [1, 2, 3]}}' * 50)
            target = Target(facts, path, None)
            try:
                yield target
                target.check_log()
            finally:
                server.shutdown()
                thread.join()

    return started


FAILS = {b"payment": b"500 Internal Server Error"}
TRACEBACK = '{"level": "error", "message": "planted", "traceback": "Traceback"}\n'


@pytest.mark.parametrize(
    ("part", "serving", "words"),
    [
        ("sockets", lying(FAILS), "bytes on a socket were answered with 500"),
        ("sockets", lying({b"health": b"404 Not Found"}), "the server is not well"),
        ("sockets", lying({}, log=TRACEBACK), "the log holds an error: planted"),
        ("sockets", lying({}, log="Traceback\n"), "the log holds what is no line of it"),
        ("files", lying({b"messages": b"500 Oops"}), "answered 500"),
    ],
)
def test_a_server_that_fails_is_found(tmp_path: Path, part: str, serving: Any, words: str):
    report, _ = soaked(tmp_path, part, means=Means(serving=serving), rounds=1)

    assert [one for one in report.findings if words in str(one)], list(map(str, report.findings))


def test_a_server_that_does_not_say_why_it_does_not_start_is_found(tmp_path: Path, monkeypatch):
    """A file that nobody can read is refused with the status 2 and a sentence, and else found."""
    from tests.soak.served import started

    bad = tmp_path / "bad.json"
    bad.write_text("{", encoding="utf-8")
    with pytest.raises(Refused, match=r"bad\.json"), started(tmp_path, "--store", str(bad)):
        pass
    with pytest.raises(Refused, match="--no-such-option"), started(tmp_path, "--no-such-option"):
        pass


class Forgetful(Ordeal):
    """An ordeal in which the file is afterwards what it was before the load."""

    def _load(self, server: SavedWorld, number: int) -> None:
        before = self._path.with_suffix(".before")
        shutil.copy(self._path, before)
        super()._load(server, number)
        for path in self._path.parent.glob(self._path.name + "*"):
            if not path.name.endswith(".log"):
                path.unlink()
        shutil.copy(before, self._path)


def test_payments_that_a_kill_takes_away_are_found(tmp_path: Path):
    report, _ = soaked(tmp_path, "kills", means=Means(ordeal=Forgetful), rounds=1)

    assert len(report.findings) == 1


# --- what it says -----------------------------------------------------------------------------


@pytest.mark.parametrize("part", IN_PROCESS)
def test_a_round_is_the_same_whenever_it_is_played(tmp_path: Path, part: str):
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()

    one, other = (soaked(folder, part, first=5)[0] for folder in folders)

    assert one.counts == other.counts
    assert [str(each) for each in one.findings] == [str(each) for each in other.findings]
    assert one.of(part)["requests"] > 50
    assert one.of(part)["2xx"] > 20


def test_a_finding_says_how_it_is_played_again(tmp_path: Path):
    means = planted(changed("GET", "/v1/batches", with_status(500)))
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    found = soaked(folders[0], "requests", means=means, rounds=3)[0].findings[-1]

    again = soaked(folders[1], "requests", means=means, rounds=1, first=found.round)[0].findings

    assert [str(one) for one in again] == [str(found)]
    assert found.replay == (
        f"python -m tests.soak --seed 3 --only requests --from {found.round} --rounds 1"
    )
    assert "request: GET '/v1/batches" in str(found)
    assert "answer: 500" in str(found)


def test_all_parts_have_their_turn_and_are_counted(tmp_path: Path):
    def play(round: Round) -> None:
        for _ in round.steps(2):
            round.counts["requests"] += 1

    parts = {name: Part("", play, share) for name, share in (("much", 9.0), ("little", 1.0))}
    wanted = Wanted(seed=1, minutes=0.003, parts=tuple(parts))

    report = soak(wanted, parts, tmp_path, say=pytest.fail)

    counts = {name: report.of(name)["rounds"] for name in parts}
    assert counts["much"] > counts["little"] > 0
    assert report.of("much")["steps"] == 2 * counts["much"]
    heading, *rows = report.table().splitlines()
    assert heading.split() == ["part", *COLUMNS]
    assert [row.split()[0] for row in rows] == ["much", "little", "all"]
    assert report.summary() == "nothing was found"


# --- the command ------------------------------------------------------------------------------


def test_the_command_prints_its_seed_and_its_counts(capsys):
    status = command.main(["--seed", "11", "--only", "money", "--rounds", "2"])

    shown = capsys.readouterr().out
    assert status == 0
    assert shown.startswith("seed 11: money, 2 rounds of each from number 0\n")
    assert shown.endswith("seed 11: nothing was found\n")


def test_the_command_takes_a_new_seed_each_time_and_fails_with_findings(capsys, monkeypatch):
    def play(round: Round) -> None:
        raise KeyError("planted")

    monkeypatch.setitem(PARTS, "money", Part("", play, 1))

    statuses = [command.main(["--only", "money", "--rounds", "1"]) for _ in range(2)]

    lines = capsys.readouterr().out.splitlines()
    seeds = {line.split()[1] for line in lines if line.endswith("of each from number 0")}
    assert statuses == [1, 1]
    assert len(seeds) == 2
    assert sum("KeyError: 'planted'" in line for line in lines) == 2


@pytest.mark.parametrize(
    "wrong",
    [["--minutes", "0"], ["--minutes", "x"], ["--only", "all"], ["--from", "-1"], ["--seeds", "1"]],
)
def test_options_that_make_no_sense_end_with_2(capsys, wrong: list[str]):
    with pytest.raises(SystemExit) as ended:
        command.main(wrong)

    assert ended.value.code == 2
    assert "usage: python -m tests.soak" in capsys.readouterr().err
