"""The journal of changes."""

from pathlib import Path

from localllm.snapshots.change_log import Change, ChangeLog


def test_a_file_whose_name_is_not_utf_8_is_written_down_and_found_again(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "log")
    changes = [
        Change(call="1", turn="1", tool="run_command", path=path, before="", after="a", time=1.0)
        for path in ("bad\udcff.txt", "plain.txt")
    ]
    log.append(changes)
    with (tmp_path / "log").open("ab") as file:
        file.write(b'{"type":"change","pa\n')
    assert log.read().changes == changes
