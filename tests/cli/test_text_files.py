"""Files that people write, as their editors save them. Source: assumed D48."""

import json
from codecs import BOM_UTF8

import pytest

from tests.cli.asking import ask, assert_refused
from tests.driving import serving

SCENARIO = """name = "tills"

[[rule]]
name = "no funds"
when.operation = "sale"
then.outcome = "insufficient_funds"
"""


def written(folder, name, text, encoding):
    file = folder / name
    file.write_bytes(BOM_UTF8 + text.encode() if encoding == "mark" else f"{text}".encode(encoding))
    return str(file)


@pytest.mark.proves("assumed D48")
def test_a_byte_order_mark_is_not_part_of_a_file(shell, tmp_path):
    scenario = written(tmp_path, "tills.toml", SCENARIO, "mark")
    world = written(tmp_path, "world.json", shell.saved().decode(), "mark")
    profile = written(tmp_path, "uat.toml", 'api_key_header = "x-key"\n', "mark")
    token = written(tmp_path, "token", "a-token-that-is-long\n", "mark")

    shell(f"scenario run {scenario}")
    shell(f"world load {world}")
    options = ("--profile", profile, "--token-file", token, "--fixture", world)
    with serving(*options, "--scenario", scenario) as other:
        assert other.facts["api_key_header"] == "x-key"
        key = {"x-key": other.key("merchant")}
        answer = other.ask("POST", "/v3/payment", json=other.sale(), headers=key)
        said = "insufficient_funds; source=scenario; rule=no funds"
        assert answer.headers["x-sandbox-outcome"] == said
        bearer = {"authorization": "Bearer a-token-that-is-long"}
        assert other.control("GET", "/worlds", headers=bearer).status_code == 200


@pytest.mark.proves("assumed D48")
def test_a_file_that_is_not_utf_8_is_refused_and_utf_8_named(shell, tmp_path):
    umlaut = SCENARIO.replace("tills", "Käse")
    for encoding, said in (("utf-16", "is UTF-16; save it as UTF-8"), ("latin-1", "is not UTF-8")):
        scenario = written(tmp_path, "tills.toml", umlaut, encoding)
        profile = written(tmp_path, "uat.toml", '# Käse\napi_key_header = "x-key"\n', encoding)
        fixture = written(tmp_path, "own.json", json.dumps({"ü": 1}, ensure_ascii=False), encoding)
        token = written(tmp_path, "token", "ein-Schlüssel-der-lang-ist", encoding)
        serve = ("serve", "--port", "0")
        for line in (
            ("scenario", "check", scenario),
            (*serve, "--scenario", scenario),
            (*serve, "--profile", profile),
            (*serve, "--fixture", fixture),
            (*serve, "--token-file", token),
        ):
            assert_refused(ask(*line), 2, f"{line[-1]}: {said}", "save it as UTF-8")
    # A world is not even sent.
    world = written(tmp_path, "world.json", shell.saved().decode(), "utf-16")
    shell.refuses(f"world load {world}", 2, "is UTF-16; save it as UTF-8")
