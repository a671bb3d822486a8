"""All that a sandbox keeps, in which secrets are looked for."""

from tests.driving import InProcess


def everything_kept(sandbox: InProcess) -> str:
    """All that the control API shows of all worlds; worlds themselves list their keys."""
    shown = [sandbox.control("GET", "/health").body]
    for world in sandbox.sandbox.worlds:
        for what in ("requests", "messages", "clock", "switches"):
            answer = sandbox.control("GET", f"/worlds/{world.id}/{what}")
            assert answer.status == 200
            shown.append(answer.body)
        for entry in world.journal.entries():
            shown.append(sandbox.control("GET", f"/worlds/{world.id}/requests/{entry.id}").body)
            # What the entry holds, before anything is masked for showing.
            shown += [entry.request or b"", entry.response or b""]
            shown += [entry.path.encode(), entry.query.encode(), repr(entry.notes).encode()]
    return b"\n".join(shown).decode("utf-8", "replace")


def secret_of(key: str) -> str:
    return key.rpartition("_")[2]


def escaped(text: str) -> str:
    r"""The text as \u escapes, each of which a JSON string may have."""
    return "".join(f"\\u{ord(char):04x}" for char in text)
