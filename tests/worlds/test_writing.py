"""Writes to the state file: what one of them did not take, and what is kept afterwards."""

from sandbox.store.files.port import StoreError
from tests.driving import fresh
from tests.state.filling import looping


def test_unwritten_changes_are_written_later_in_their_present_state(tmp_path, monkeypatch):
    path, tried = tmp_path / "state.json", []

    def fail(changes):
        tried.append(list(changes))
        raise StoreError("the disk is full") if len(tried) > 1 else RuntimeError("a defect")

    with looping(fresh(store=path)) as sandbox, monkeypatch.context() as full:
        key = sandbox.create_key().json()["id"]
        full.setattr(sandbox.sandbox.worlds.saver.file, "write", fail)
        assert sandbox.control("POST", "/worlds", {"id": "b"}).status == 500
        for name in ("first", "second", "third"):
            assert sandbox.change_key(key, name=name).status == 500

    (change,) = (one for one in tried[-1] if one.world == sandbox.world)
    documents = [(table, one.id) for table, one in change.puts]
    assert len(documents) == len(set(documents))
    with looping(fresh(store=path)) as again:
        assert again.read_key(key)["name"] == "third"
        assert again.sandbox.worlds.get("b") is not None


def test_a_deleted_world_leaves_nothing_behind_once_its_end_is_written(tmp_path):
    with looping(fresh(store=tmp_path / "state.json")) as sandbox:
        sandbox.add_world("quokka").manage("DELETE", "").expect(204)

        assert "quokka" not in repr(vars(sandbox.sandbox.worlds.saver))


def test_no_attempt_sends_a_message_that_the_file_lacks(tmp_path, monkeypatch):
    def fail(changes):
        raise StoreError("the disk is full")

    with looping(fresh(store=tmp_path / "state.json")) as sandbox, monkeypatch.context() as full:
        sandbox.manage("POST", "/receivers", {"answers": [200]})
        full.setattr(sandbox.sandbox.worlds.saver.file, "write", fail)
        assert sandbox.pay(1000).status == 500
        sandbox.manage("POST", "/clock/advance", {"by": "1h"})

        for message in sandbox.look("messages")["messages"]:
            attempts = message["deliveries"][0]["attempts"]
            assert len(attempts) > 1
            assert {one["status_code"] for one in attempts} == {None}
