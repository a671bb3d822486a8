"""What the journal says about the two mistakes that new clients make most often."""

import pytest

from tests.driving import InProcess


def reason(sandbox: InProcess) -> str:
    (entry,) = sandbox.look("requests", limit=1)["requests"]
    said: str = entry["decisions"][-1]["reason"]
    return said


MEANT = {
    "/v3/payments": "/v3/payment",
    "/v5/apikey": "/v5/apikeys",
    "/v1/transaction": "/v1/transactions",
    "/v1/payments/d472ec81-0a38/captured": "/v1/payments/d472ec81-0a38/capture",
}


def test_a_misspelt_path_names_the_nearest_if_it_resembles_one(sandbox):
    for path, meant in MEANT.items():
        answer = sandbox.ask("POST", path)
        assert answer.status == 404
        assert "did you mean" not in answer.body.decode()
        assert reason(sandbox) == f"no endpoint has the path {path}; did you mean {meant!r}?"
    sandbox.ask("POST", "/v3/payment/")
    assert reason(sandbox).endswith("; did you mean '/v3/payment', without the slash at the end?")
    for path in ("/wp-login.php", "/" + "a/" * 50, "/" + "x" * 3_000):
        assert sandbox.ask("GET", path).status == 404
        assert "did you mean" not in reason(sandbox)


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_a_key_in_another_header_is_noticed_and_not_shown(sandbox, header):
    value = sandbox.key("merchant")
    value = f"Bearer {value}" if header == "authorization" else value

    answer = sandbox.ask(
        "GET", "/v5/apikeys", headers=[(b"host", b"127.0.0.1"), (header.encode(), value.encode())]
    )

    assert answer.status == 401
    assert reason(sandbox) == f"no API key was sent in its header, but {header} has one"


def test_a_bearer_token_of_something_else_is_not_a_key(sandbox):
    headers = [(b"host", b"127.0.0.1"), (b"authorization", b"Bearer abc")]

    sandbox.ask("GET", "/v5/apikeys", headers=headers)

    assert reason(sandbox) == "no API key was sent"
