"""Writes to the state file: what one of them did not take, and what is kept afterwards."""

import pytest

from tests.driving import fresh
from tests.worlds.worlds import kept, make_another


def test_what_a_defect_kept_from_the_file_is_written_next_time(tmp_path, monkeypatch):
    path = tmp_path / "state.json"

    def fail(changes):
        raise RuntimeError("a defect of the sandbox")

    with kept(fresh(store=path)) as sandbox:
        saver = sandbox.sandbox.worlds.saver
        make_another(sandbox, "b")
        with monkeypatch.context() as defect:
            defect.setattr(saver.file, "write", fail)
            with pytest.raises(RuntimeError):
                saver.save()

    with kept(fresh(store=path)) as again:
        assert again.sandbox.worlds.get("b") is not None


def test_a_deleted_world_leaves_nothing_behind_once_its_end_is_written(tmp_path):
    with kept(fresh(store=tmp_path / "state.json")) as sandbox:
        worlds = sandbox.sandbox.worlds
        make_another(sandbox, "quokka")
        worlds.saver.save()
        worlds.delete(worlds.get("quokka"))
        worlds.saver.save()

        assert "quokka" not in repr(vars(worlds.saver))
