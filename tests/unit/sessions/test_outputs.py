"""What lies beside the sessions goes with the last one that names it; nothing else does."""

from pathlib import Path

from localllm.llm.messages import UserMessage
from localllm.sessions.entries import Kept
from localllm.sessions.store import Sessions
from tests.support.session_logs import keep, sessions, turn
from tests.unit.sessions.test_store import age

OURS = ("run_command-0123abcd.txt", "words-0123456789abcdef.txt")
THEIRS = ("run_command-99999999.txt", "notes.txt", "run_command-0123abcd.txt.bak", "a-xyz.txt")


def made(root: Path, *names: str) -> Path:
    folder = root / "tool-output"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("text")
    return folder


def naming(store: Sessions, *names: str) -> str:
    text = " ".join(f"[see .localllm/tool-output/{name}]" for name in names)
    return keep(store, [*turn("q", "a"), Kept(message=UserMessage(text))])


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_what_only_deleted_sessions_name_goes(tmp_path: Path) -> None:
    store, folder = sessions(tmp_path), made(tmp_path, *OURS, *THEIRS)
    first, second = naming(store, *OURS, "notes.txt", "../sessions/x.txt"), naming(store, OURS[0])
    store.delete(first)
    store.delete_orphans()
    assert names(folder) == {OURS[0], *THEIRS}
    store.delete(second)
    store.delete_orphans()
    assert names(folder) == {*THEIRS}


def test_old_sessions_take_theirs_with_them(tmp_path: Path) -> None:
    store, folder = sessions(tmp_path), made(tmp_path, *OURS)
    age(store, naming(store, *OURS), 40)
    naming(store)
    assert store.prune(keep_days=30, keep_count=1).surplus
    assert not names(folder)


def test_no_link_is_followed(tmp_path: Path) -> None:
    store, folder = sessions(tmp_path), made(tmp_path, *OURS)
    elsewhere = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(elsewhere)
    session = naming(store, *OURS)
    store.delete(session)
    store.delete_orphans()
    assert names(elsewhere) == {*OURS}


def test_what_is_no_log_names_nothing(tmp_path: Path) -> None:
    store, folder = sessions(tmp_path), made(tmp_path, *OURS)
    session = naming(store, *OURS)
    (store.folder / "folder.jsonl").mkdir()  # no log: passed over
    (store.folder / "link.jsonl").symlink_to(tmp_path / "nowhere")
    store.delete(session)
    store.delete_orphans()
    assert not names(folder)
