"""The output of a server: its log, and the banner when it is ready."""

import json
import logging
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sandbox import __version__
from sandbox.app import Sandbox
from sandbox.domain.text import printable
from sandbox.server.tls import is_known_to_clients
from sandbox.settings import LogFormat, Settings


class JsonLines(logging.Formatter):
    """Formats each record as a JSON object; records of requests have additional fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON, with its traceback if it has one."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().rstrip(),
        }
        line |= getattr(record, "request", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


class TextLines(logging.Formatter):
    """Formats each record as one line, even with line breaks; tracebacks are indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text without control characters, which a terminal would obey."""
        lines = [f"{record.levelname} {printable(record.getMessage().rstrip())}"]
        if record.exc_info:
            traceback = self.formatException(record.exc_info).splitlines()
            lines += [f"  {printable(line)}" for line in traceback]
        return "\n".join(lines)


def set_up_logging(log_format: LogFormat) -> None:
    """Send the log of the sandbox and of uvicorn to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    for name, level in (("sandbox", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


# --- the banner ---------------------------------------------------------------------------------

KEYS_SHOWN: Final = ("merchant", "partner", "psp", "admin")
"""The keys of the cast for the four levels of access. `sandbox keys` lists all."""

_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses to which clients cannot always connect; the banner names loopback instead."""


def announce(sandbox: Sandbox, settings: Settings) -> None:
    """Print the banner, as text or as one line of JSON."""
    facts = facts_of(sandbox, settings)
    if settings.log_format == "json":
        print(json.dumps({"event": "started", **facts}), flush=True)
    else:
        is_trusted = is_known_to_clients(settings.tls_folder)
        is_everywhere = settings.host in _ANY_ADDRESS
        print(_banner(facts, is_everywhere=is_everywhere, is_trusted=is_trusted), flush=True)


def take_leave(sandbox: Sandbox, settings: Settings) -> None:
    """Print a line at the end, unless the log is JSON: how many requests, and what is kept."""
    if settings.log_format == "json":
        return
    count = sandbox.worlds.measured.count_requests()
    requests = "1 request" if count == 1 else f"{count:,} requests"
    saver, kept = sandbox.worlds.saver, "nothing kept"
    if saver is not None:
        kept = f"{'kept' if saver.problem is None else 'not all of it kept'} in {saver.name}"
    said = f"stopped; {requests}, {kept}"
    # The reader of the output may be gone already.
    with suppress(OSError):
        print(said, flush=True)


def facts_of(sandbox: Sandbox, settings: Settings) -> dict[str, Any]:
    """Return all facts about a server that has started, as JSON values."""
    here = replace(settings, host=_ANY_ADDRESS.get(settings.host, settings.host))
    world = sandbox.worlds.default
    return {
        "version": __version__,
        "url": here.url_at(here.port),
        "control_url": f"{here.url_at(here.control_port or here.port)}/_sandbox",
        # A given token is known to the user, and others may read logs (assumed D25-token).
        "token": sandbox.token if settings.token is None else None,
        "needs_token": sandbox.token is not None,
        "store": sandbox.store,
        "fixture": world.spec.fixture.name,
        "seed": world.spec.seed,
        "clock": world.clock.view(),
        "api_key_header": settings.profile.api_key_header,
        "keys": world.cast.plaintexts,
        "known_keys": world.spec.are_keys_known,
        "terminals": world.cast.terminals,
        "has_ca": settings.ca is not None,
    }


def _banner(facts: dict[str, Any], *, is_everywhere: bool, is_trusted: bool) -> str:
    clock, url, control_url = facts["clock"], facts["url"], facts["control_url"]
    curl = "curl -s --cacert ca.pem" if facts["has_ca"] else "curl -s"
    everywhere = ", listening on all addresses" if is_everywhere else ""
    bearer = ' -H "Authorization: Bearer $SANDBOX_TOKEN"' if facts["needs_token"] else ""
    trust = (
        "Commands on this machine trust its certificate. Phones and other programs need this one:"
        if is_trusted
        else "Phones and programs need this certificate; for commands, `export SANDBOX_CA=ca.pem`:"
    )
    # Fragments do not appear in logs and referrers.
    signs_in = "" if facts["token"] is None else f"#token={facts['token']}"
    paragraphs = [
        f"uat-sandbox {facts['version']} serves the platform on {url}{everywhere}\n"
        f"world default: fixture {facts['fixture']}, seed {facts['seed']}, "
        f"clock {clock['mode']} at {clock['now']}, stored in {facts['store']}",
        facts["has_ca"] and f"{trust}\n  curl -sk {control_url}/ca.pem -o ca.pem",
        _first_request(facts, curl),
        facts["needs_token"] and _token(facts["token"]),
        f"The reasons for each answer:\n  {curl} {control_url}/worlds/default/requests{bearer}",
        _keys(facts),
        f"The console, in a browser:\n  {control_url}/{signs_in}\n"
        f"The API documentation, with requests to try, in a browser:\n  {control_url}/docs",
        "Ctrl-C stops it.",
    ]
    return "\n\n".join(filter(None, paragraphs))


def _first_request(facts: dict[str, Any], curl: str) -> str:
    """Return a sale to paste, or a list of keys if the merchant has no terminal or no key."""
    keys, terminals = facts["keys"], facts["terminals"]
    header = f"-H '{facts['api_key_header']}: "
    if "merchant" in keys and "merchant" in terminals:
        body = json.dumps({"amount": 1000, "terminal_id": terminals["merchant"]})
        return (
            f"A first payment to paste:\n  {curl} {facts['url']}/v3/payment "
            f"{header}{keys['merchant']}' -H 'content-type: application/json' -d '{body}'"
        )
    if not keys:
        return ""
    key = next(iter(keys.values()))
    return f"A first request to paste:\n  {curl} {facts['url']}/v5/apikeys {header}{key}'"


def _token(token: str | None) -> str:
    """Return the paragraph about the token; a generated one is shown here and nowhere else."""
    if token is None:
        return "The control API needs the token that you gave."
    return (
        "The control API needs a token, which was generated for this start:\n"
        f"  export SANDBOX_TOKEN={token}"
    )


def _keys(facts: dict[str, Any]) -> str:
    """Return the paragraph about keys: at most four, and how to list the rest."""
    keys = facts["keys"]
    if not keys:
        return "The fixture has no API keys."
    shown = [name for name in KEYS_SHOWN if name in keys] or list(keys)[: len(KEYS_SHOWN)]
    width = max(map(len, shown))
    lines = ["API keys of the world default:", *(f"  {one:<{width}}  {keys[one]}" for one in shown)]
    if left := len(keys) - len(shown):
        lines.append(f"  and {left} more: {_command()} keys{_url_option(facts['control_url'])}")
    if not facts["known_keys"]:
        lines.append(
            "These keys belong to this server only; --known-keys gives a new one the known keys."
        )
    return "\n".join(lines)


def _url_option(control_url: str) -> str:
    """Return the option with which commands ask this server; none at the usual address."""
    url, usual = control_url.removesuffix("/_sandbox"), Settings()
    return "" if url == usual.url_at(usual.port) else f" --url {shlex.quote(url)}"


def _command() -> str:
    """Return the name or path under which this program can be called here."""
    beside = Path(sys.executable).with_name("sandbox")
    if shutil.which("sandbox") or not beside.is_file():
        return "sandbox"
    # The folder of the process may be gone.
    with suppress(ValueError, OSError):
        beside = beside.relative_to(Path.cwd())
    return shlex.quote(str(beside))
