"""An operation that needs a second permission."""

import sys

import pytest

from sandbox.app import build
from sandbox.control import docs, permissions
from sandbox.domain.directory import Account
from sandbox.platform.context import OperationContext
from sandbox.platform.openapi import document
from sandbox.platform.operation import Target, operation
from sandbox.platform.routes import MOUNTS, OPERATIONS
from sandbox.platform.routing import build_mounts, rows_of
from sandbox.settings import Settings
from tests.driving import InProcess


@operation(
    "accounts.audit",
    "GET",
    "/v9/audits/{account_id}",
    needs="accounts:read",
    also_needs="batches:read",
    target=Target("path", "account_id"),
    source="assumed 4.7",
)
def audit(context: OperationContext, account: Account) -> Account:
    """Read an account with its batches."""
    return account


@pytest.fixture
def sandbox(monkeypatch):
    (row,) = rows_of(sys.modules[__name__])
    monkeypatch.setattr(document, "OPERATIONS", (*OPERATIONS, row))
    monkeypatch.setitem(permissions.PERMITTED, row.name, row)
    mounts = build_mounts("platform", [row])
    MOUNTS.extend(mounts)
    docs._render.cache_clear()
    yield InProcess(build(Settings()))
    docs._render.cache_clear()
    del MOUNTS[-len(mounts) :]


def test_a_key_needs_both_permissions_and_a_refusal_names_the_second(sandbox):
    path = f"/v9/audits/{sandbox.account_id('merchant')}"
    for granted, status in (
        (["accounts:read", "batches:read"], 200),
        (["accounts:read"], 401),
        (["accounts:edit", "batches:read"], 401),
        (["batches:read"], 404),
    ):
        key = sandbox.mint(granted, by="psp", account=sandbox.account_id("partner"))

        answer = sandbox.get(path, by=key["key"])

        seen = {"key": key["id"], "operation": "accounts.audit", "target": "merchant"}
        lens = sandbox.manage("POST", "/lens", seen).json()
        rows = sandbox.look(f"lens/{key['id']}")["rows"]
        (shown,) = (one for one in rows if one["operation"] == "accounts.audit")
        assert [answer.status, lens["status"], shown["descendant"]] == [status] * 3, granted
        if granted == ["accounts:read"]:
            assert "requires accounts:read, and batches:read" in answer.json()["detail"]
            assert lens["missing"] == ["batches:read"]


def test_the_document_names_both_permissions(sandbox):
    shown = sandbox.look("/platform/openapi.json")

    operation = shown["paths"]["/v9/audits/{account_id}"]["get"]
    assert operation["description"].startswith(
        "Needs `accounts:read`. It also needs `batches:read`."
    )
    assert operation["x-permissions"] == ["accounts:read"]
    assert operation["x-also-permission"] == "batches:read"
