"""What the journal says about the two mistakes that new clients make most often."""

import pytest

from tests.driving import InProcess
from tests.platform.refusals import assert_key_refusal


def reason(sandbox: InProcess) -> str:
    (entry,) = sandbox.look("requests", limit=1)["requests"]
    said: str = entry["decisions"][-1]["reason"]
    return said


MEANT = {
    "/v3/payments": "/v3/payment",
    "/v5/apikey": "/v5/apikeys",
    "/V1/Transactions": "/v1/transactions",
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


@pytest.mark.proves("spec 5-apikey", "assumed 0.4-bearer, C6")
def test_a_key_is_read_from_its_own_header_alone_and_noticed_in_another(sandbox):
    bearer = f"Bearer {sandbox.key('merchant')}"
    for name in ("authorization", "x-api-key", "x-service-apikey-2", "x-service_apikey", "apikey"):
        value = bearer if name == "authorization" else sandbox.key("merchant")
        answer = sandbox.ask("GET", "/v5/apikeys", headers=[(name.encode(), value.encode())])

        assert_key_refusal(answer, 401, "authentication_failed")
        assert reason(sandbox) == f"no API key was sent in its header, but {name} has one"
    sandbox.ask("GET", "/v5/apikeys", headers=[(b"authorization", b"Bearer svc abc")])
    assert reason(sandbox) == "no API key was sent"
