"""What a write to the state file did not take is written by the next one."""

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
