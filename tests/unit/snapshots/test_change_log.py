"""The journal of changes: what is written down is read again, and old changes go."""

from pathlib import Path

import pytest

from localllm.snapshots.change_log import OWN_WRITE, Begun, Change, ChangeLog, Ended, TakenBack, retained
from tests.support.each import each


def made(
    call: str, path: str = "a", *, tool: str = "edit", before: str = "", after: str = "", time: float = 1.0
) -> Change:
    return Change(call=call, turn="1", tool=tool, path=path, before=before, after=after, time=time)


def begun(call: str) -> Begun:
    return Begun(call=call, turn="1", tool="edit", paths={"a": "x"}, time=1.0, program="p", undoes=("1 a",))


def test_a_file_whose_name_is_not_utf_8_is_written_down_and_found_again(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "log")
    changes = [made("1", path) for path in ("bad\udcff.txt", "plain.txt")]
    log.append(changes)
    with (tmp_path / "log").open("ab") as file:
        file.write(b'{"type":"change","pa\n')
    assert log.read().changes == changes


def test_what_was_begun_ended_and_taken_back_is_told(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "log")
    assert (log.size, log.read()) == (0, ([], set(), []))
    log.append([begun("1"), begun("2"), made("1")])
    size = log.size
    log.append([Ended("1"), Ended("unknown"), TakenBack(("1 a", "1 b")), made("3")])
    assert log.read() == ([made("1"), made("3")], {"1 a", "1 b"}, [begun("2")])
    assert log.read(size) == ([made("3")], {"1 a", "1 b"}, [])
    log.replace([made("3")])
    assert log.read(size) == ([made("3")], set(), [])  # it is shorter than that by now
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_torn_line_stays_one_and_hides_nothing(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "log")
    log.append([made("1")])
    with (tmp_path / "log").open("ab") as file:
        file.write(b'{"type":"ch')
    log.append([made("2")])
    log.append([made("3")])
    assert [one.call for one in log.read().changes] == ["1", "2", "3"]
    assert len((tmp_path / "log").read_bytes().splitlines()) == 4
    (tmp_path / "link").symlink_to("log")
    with pytest.raises(OSError, match="link"):
        ChangeLog(tmp_path / "link").append([made("4")])


def test_what_localllm_alone_made_of_a_file_is_known(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "log")
    log.append(
        [
            made("1", before="s", after="mine", tool=OWN_WRITE),
            made("2", before="mine", after="back"),
            made("3", before="back", after="theirs"),
            made("4", "other", before="s", after="elsewhere", tool=OWN_WRITE),
            made("5", before="unknown", after="later", tool=OWN_WRITE),
            TakenBack(("2 a",)),
        ]
    )
    assert log.read().own_states("a", "s") == {"s", "mine", "back"}
    assert log.read().own_states("a", "none") == {"none"}


SIZES = {"": 0, "one": 1, "two": 2, "three": 3}
CHANGES = [
    made("1", before="one:644", after="two:644", time=1.0),
    made("2", before="two:644", after="three:644", time=2.0),
    made("2", "b", before="one:644", after="two:755", time=2.0),
    made("3", before="three:644", after="two:644", time=3.0, tool=OWN_WRITE),
    made("4", before="two:644", after="two:755", time=4.0),
]


@each(
    ("since", "always", "room", "kept"),
    [
        (0.0, 0, 6, 5),
        (2.0, 0, 6, 4),
        (2.5, 0, 6, 2),
        (9.0, 0, 6, 0),
        (9.0, 1, 6, 2),
        (9.0, 2, 6, 4),
        (9.0, 3, 6, 5),
        (0.0, 9, 5, 2),
        (0.0, 9, 2, 1),
        (0.0, 9, 1, 0),
    ],
)
def test_young_changes_are_kept_and_the_newest_calls_as_far_as_they_fit(
    since: float, always: int, room: int, kept: int
) -> None:
    """A content counts once, and what localllm wrote by itself is no call."""

    def size(content: str) -> int:
        return SIZES[content]

    found = retained(CHANGES, since, always, room, size)
    assert found == CHANGES[len(CHANGES) - kept :]
