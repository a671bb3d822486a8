"""Receivers with certificates that only their developers trust."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sandbox.server import tls as certificates
from tests.cli.asking import ask as run
from tests.driving import serving


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("authority")


@pytest.fixture(scope="module")
def receiver(folder):
    context = certificates.own(folder, ["localhost"]).context
    with ThreadingHTTPServer(("127.0.0.1", 0), _Receiver) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_port}/hook"
        server.shutdown()


def first_attempt(server, url):
    server.control("POST", "/worlds/default/endpoints", json={"url": url})
    sale = {"amount": 1000, "terminal_id": server.facts["terminals"]["merchant"]}
    assert server.ask("POST", "/v3/payment", key="merchant", json=sale).status_code == 200
    server.control("POST", "/worlds/default/clock/advance", json={"by": "0s"})
    message = server.control("GET", "/worlds/default/messages").json()["messages"][0]
    id = message["id"]
    shown = server.control("GET", f"/worlds/default/messages/{id}").json()
    return shown["deliveries"][0]["attempts"][0]


def test_a_receiver_whose_certificate_is_given_gets_its_webhooks(receiver, folder):
    with serving("--webhooks-ca", str(folder / "ca.pem")) as server:
        assert first_attempt(server, receiver)["status_code"] == 204


def test_the_error_of_an_untrusted_certificate_names_the_option(receiver):
    with serving() as server:
        error = first_attempt(server, receiver)["error"]

    assert "the TLS certificate is not trusted" in error
    assert "--webhooks-ca FILE" in error


def test_a_file_without_certificates_is_refused_at_the_start(tmp_path):
    junk = tmp_path / "junk.pem"
    junk.write_text("no certificate")

    for file, why in ((junk, "PEM"), (tmp_path / "none.pem", "No such file")):
        done = run("serve", "--port", "0", "--webhooks-ca", str(file))
        assert done.exit_code == 2
        assert f"--webhooks-ca {file}" in done.stderr
        assert why in done.stderr


def test_the_doctor_says_how_to_trust_a_certificate(receiver):
    done = run("doctor", receiver, "--secret", "whsec_" + "A" * 32)

    assert done.exit_code != 0
    assert "set SSL_CERT_FILE to a file with it" in done.stderr
