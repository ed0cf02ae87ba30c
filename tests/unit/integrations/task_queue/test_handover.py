"""What is known of runs that were handed over, from files that a command may have put into a work folder."""

from pathlib import Path

from localllm.integrations.task_queue.handover import TICKET, place_of
from localllm.research.run_store import reserve_run


def test_a_note_that_is_a_link_to_what_has_no_end_is_none(tmp_path: Path) -> None:
    name, folder = reserve_run(tmp_path, 2026)
    (folder / TICKET).symlink_to("/dev/zero")
    assert place_of(tmp_path, name) == ""
    (folder / TICKET).unlink()
    (folder / TICKET).write_text('{"job": "1", "where": "redis://box/0"}')
    assert place_of(tmp_path, name) == "redis://box/0"
