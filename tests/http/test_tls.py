"""`serve --tls`: a certificate of this machine's own authority, or a given one."""

import contextlib
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from sandbox.server import tls as certificates
from tests.cli.asking import ask as run
from tests.driving import Served, serving

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("authority") / "tls"


@pytest.fixture(scope="module")
def server(folder) -> Iterator[Served]:
    with serving("--tls", "--tls-folder", str(folder)) as one:
        yield one


@pytest.fixture
def trusting(folder) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "ca.pem"))


def test_only_a_client_that_trusts_the_authority_takes_a_payment(server, folder, trusting):
    assert server.facts["url"].startswith("https://")
    assert server.facts["has_ca"] is True
    headers = {"x-service-apikey": server.facts["keys"]["merchant"]}

    for host in ("127.0.0.1", "localhost"):
        url = f"https://{host}:{server.port}/v3/payment"
        answer = httpx2.post(url, json=server.sale(), headers=headers, verify=trusting, timeout=60)
        assert (answer.status_code, answer.json()["status"]) == (200, "captured")
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx2.get(server.facts["url"], verify=ssl.create_default_context(), timeout=60)
    given = httpx2.get(f"{server.facts['control_url']}/ca.pem", verify=False, timeout=60)
    assert given.status_code == 200
    assert given.content == (folder / "ca.pem").read_bytes()


def test_a_body_that_is_refused_early_gets_its_answer(server, trusting):
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain,
        trusting.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        secure.sendall(
            b"POST /v3/payment HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            b"content-type: application/json\r\ncontent-length: 5000000\r\n\r\n{"
        )
        assert secure.recv(1_000).split()[1] in (b"401", b"413")


def test_commands_trust_the_authority_of_this_machine_or_the_file_that_they_are_given(
    server, folder, monkeypatch, tmp_path
):
    def asked(**env: Path):
        for name, path in env.items():
            monkeypatch.setenv(name, str(path))
        return run("keys", "--name", "merchant", "--url", server.facts["url"])

    here, elsewhere = asked(SANDBOX_TLS_FOLDER=folder), asked(SANDBOX_TLS_FOLDER=tmp_path)
    given = asked(SANDBOX_CA=folder / "ca.pem")
    made = run("world", "new", "--url", server.facts["url"]).stdout.splitlines()
    script = run("export", "requests", "--url", server.facts["url"]).stdout
    lost = asked(SANDBOX_CA=tmp_path / "nowhere.pem")

    assert 'export CURL_CA_BUNDLE="${CURL_CA_BUNDLE:-ca.pem}"' in script.splitlines()
    assert here.stdout.strip() == given.stdout.strip() == server.facts["keys"]["merchant"]
    assert made[-2] == f"  curl -sk {server.facts['control_url']}/ca.pem -o ca.pem"
    assert made[-1].startswith(f"  curl -s --cacert ca.pem {server.facts['url']}/v3/payment -H")
    assert (elsewhere.exit_code, lost.exit_code) == (2, 2)
    assert "CERTIFICATE_VERIFY_FAILED" in elsewhere.stderr
    assert "SANDBOX_CA" in elsewhere.stderr
    assert "nowhere.pem" in lost.stderr


def test_the_authority_stays_and_only_its_owner_can_read_its_key(server, folder):
    before = (folder / "ca.pem").read_bytes()
    # Moved to a phone, instead of copied.
    (folder / "ca.pem").unlink()

    again = certificates.own(folder, ["sandbox.example"])

    assert again.ca == before == (folder / "ca.pem").read_bytes()
    assert {path.name for path in folder.iterdir()} == {".lock", "ca.pem", "ca-key.pem"}
    assert stat.S_IMODE((folder / "ca-key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert b"PRIVATE" not in before


def test_a_host_may_have_letters_that_are_not_ascii(folder):
    server = certificates.own(folder, ["büro.example"])
    client = ssl.create_default_context(cadata=server.ca.decode())
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname="büro.example")
    answering = server.context.wrap_bio(to_server, to_client, server_side=True)

    for side in (asking, answering, asking, answering):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()

    assert ("DNS", "xn--bro-hoa.example") in asking.getpeercert()["subjectAltName"]


def test_a_given_certificate_is_served(tmp_path, folder, server):
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    from sandbox.server import authority as signing

    key = serialization.load_pem_private_key((folder / "ca-key.pem").read_bytes(), None)
    authority = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
    chain = signing._server_chain(key, authority, ["localhost", "127.0.0.1"])
    cut = chain.index(b"-----BEGIN CERTIFICATE")
    (tmp_path / "key.pem").write_bytes(chain[:cut])
    (tmp_path / "cert.pem").write_bytes(chain[cut:])
    options = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))

    with serving(*options) as given:
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        control = given.facts["control_url"]
        health = httpx2.get(f"{control}/health", verify=context, timeout=60)
        no_ca = httpx2.get(f"{control}/ca.pem", verify=context, timeout=60)

    assert (health.status_code, no_ca.status_code) == (200, 404)
    assert given.facts["has_ca"] is False


def test_unusable_input_is_refused_in_a_sentence(tmp_path, monkeypatch):
    junk = tmp_path / "junk"
    junk.write_text("no certificate")
    for options, words in (
        (["--tls-key", "k.pem"], ["--tls-key", "--tls-cert"]),
        (["--tls-cert", "nowhere.pem"], ["--tls-cert nowhere.pem", "No such file"]),
        (["--tls-cert", str(junk)], ["--tls-cert", "PEM"]),
        (["--webhooks-ca", "nowhere.pem"], ["--webhooks-ca nowhere.pem", "No such file"]),
        (["--webhooks-ca", str(junk)], [f"--webhooks-ca {junk}", "PEM"]),
        (["--tls", "--tls-folder", str(junk)], ["--tls-folder", "cannot be used"]),
    ):
        done = run("serve", "--port", "0", *options)

        assert done.exit_code == 2
        assert all(word in done.stderr for word in words), done.stderr
    (tmp_path / "ca-key.pem").write_text("-----BEGIN JUNK-----")
    with pytest.raises(certificates.CertificateError, match=r"ca-key\.pem: is not a key"):
        certificates.own(tmp_path, [])
    for name in ("HOME", "XDG_DATA_HOME", "SANDBOX_TLS_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 1)
    assert "has no home" in run("serve", "--port", "0", "--tls").stderr


def test_the_text_banner_says_how_phones_come_to_trust_it(folder):
    from tests.cli.asking import banner_of

    with banner_of("--tls", "--tls-folder", str(folder)) as (lines, _):
        pass

    assert "for commands, `export SANDBOX_CA=ca.pem`:" in "".join(lines)
    assert any(line.endswith("/_sandbox/ca.pem -o ca.pem") for line in lines)
    assert any("--cacert ca.pem https://" in line for line in lines)


def test_the_test_kit_trusts_the_authority_too(server, folder, monkeypatch, tmp_path):
    from uat_sandbox.errors import SandboxError
    from uat_sandbox.plain_client import PlainClient
    from uat_sandbox.trust import trusting_context

    monkeypatch.setenv("SANDBOX_TLS_FOLDER", str(folder))
    client = PlainClient(server.facts["control_url"], {}, timeout_s=10)
    try:
        health = client.get("/health")
    finally:
        client.close()
    with httpx2.Client(verify=trusting_context(), timeout=60) as other:
        assert other.get(f"{server.facts['control_url']}/health").status_code == 200

    assert health.status_code == 200
    monkeypatch.setenv("SANDBOX_CA", str(tmp_path / "nowhere.pem"))
    with pytest.raises(SandboxError, match=r"nowhere\.pem"):
        trusting_context()
