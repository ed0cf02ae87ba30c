"""One value changes and no other byte; what is wrong changes nothing."""

import subprocess
import sys
import tomllib
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.errors import ConfigurationError
from localllm.config.editor import set_value, unset, write_value
from localllm.config.keys import path_of
from tests.support.settings_files import VALUES, SettingsFile, settings_files

TYPED = {
    "offline": ["true"],
    "llm.model": ['qwen # "3"', "日本語\n\x7f\x1b", "", "it's"],
    "llm.max_tokens": ["8192"],
    "llm.temperature": ["0.25", "2", "1e-7"],
    "llm.lmstudio.base_url": ["http://gpu:1"],
    "llm.lmstudio.timeout": ["2.5"],
    "llm.openai.timeout": ["60"],
    "agent.max_iterations": ["99"],
    "safety.auto_backup": ["true", "false"],
    "safety.deny": ["a,b", "[a, b]", "[\"x, y\", 'z']", "[]"],
    "project.exclude_patterns": ["*.md", "[ab]*.py"],
    "commands.aliases.test": ["go"],
    "commands.aliases.日本 語": ["はい"],
    "commands.aliases.new.one": ["x"],
    "ui.theme": ["plain"],
}
"""Keys and values as they are typed."""

assert set(TYPED) > set(VALUES)

typed = st.sampled_from([(key, text) for key, texts in TYPED.items() for text in texts])


def read(data: bytes) -> dict[str, object]:
    return tomllib.loads(data.decode("utf-8-sig"))


def flat(data: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    if not isinstance(data, dict):
        return {path: data}
    return {key: value for name, below in data.items() for key, value in flat(below, (*path, name)).items()}


def difference(old: str, new: str) -> tuple[str, str]:
    """The least part of `old` and of `new` that differs."""
    start = equal_at_start(old, new)
    end = equal_at_start(old[start:][::-1], new[start:][::-1])
    return old[start : len(old) - end], new[start : len(new) - end]


def equal_at_start(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("editing") / "localllm.toml"


@given(file=settings_files(), change=typed)
def test_setting_keeps_every_other_byte(scratch: Path, file: SettingsFile, change: tuple[str, str]) -> None:
    key, text = change
    scratch.write_bytes(file.data)
    set_value(scratch, key, text)
    new = scratch.read_bytes()
    before, after = flat(read(file.data)), flat(read(new))
    path = path_of(key)
    value = after.pop(path)
    before.pop(path, None)
    assert before == after
    gone, come = difference(file.data.decode(), new.decode())
    if key in file.written:
        assert gone in file.written[key]
        assert come in write_value(tuple(value) if isinstance(value, list) else value)
    else:
        assert gone == ""
        lines = new.decode().count("\n") - file.data.decode().count("\n")
        assert lines <= 3  # a blank one, the header, the pair
        if b"\r\n" in file.data:
            assert new.count(b"\n") == new.count(b"\r\n")
    assert new.endswith(b"\n") == (file.data.endswith(b"\n") or file.data in (b"", b"\xef\xbb\xbf"))


@given(file=settings_files(), data=st.data())
def test_unsetting_takes_out_one_line(scratch: Path, file: SettingsFile, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(VALUES)))
    scratch.write_bytes(file.data)
    assert unset(scratch, key) == (key in file.written)
    new = scratch.read_bytes()
    expected = flat(read(file.data))
    expected.pop(path_of(key), None)
    assert flat(read(new)) == expected
    gone, come = difference(file.data.decode(), new.decode())
    assert come == ""
    if key in file.written:
        assert gone.count("\n") <= file.written[key].count("\n") + 1
    else:
        assert new == file.data


@given(file=settings_files(), change=typed)
def test_what_was_added_can_be_taken_out_again(scratch: Path, file: SettingsFile, change: tuple[str, str]) -> None:
    key, text = change
    scratch.write_bytes(file.data)
    if unset(scratch, key):
        return
    set_value(scratch, key, text)
    with_it = scratch.read_bytes()
    assert unset(scratch, key)
    set_value(scratch, key, text)
    assert read(scratch.read_bytes()) == read(with_it)


@pytest.mark.parametrize(
    ("old", "key", "text", "new"),
    [
        ("[llm]\nmodel = 'a'   # mine\n", "llm.model", "b", '[llm]\nmodel = "b"   # mine\n'),
        (
            "[llm]\nmodel = 'a'\n\n# about safety\n[safety]\n",
            "llm.max_tokens",
            "5",
            "[llm]\nmodel = 'a'\nmax_tokens = 5\n\n# about safety\n[safety]\n",
        ),
        ("  [llm]\n    model = 'a'\n", "llm.max_tokens", "5", "  [llm]\n    model = 'a'\n    max_tokens = 5\n"),
        ("[llm] # c", "llm.model", "b", '[llm] # c\nmodel = "b"'),
        ("# mine\n[llm]\n", "offline", "true", "offline = true\n\n# mine\n[llm]\n"),
        ("", "offline", "true", "offline = true\n"),
        ("offline = true\n[llm]\n", "offline", "false", "offline = false\n[llm]\n"),
        (
            "llm.model = 'a'\nui.theme = 'dark'\n",
            "llm.max_tokens",
            "5",
            "llm.model = 'a'\nllm.max_tokens = 5\nui.theme = 'dark'\n",
        ),
        (
            "[llm]\nlmstudio.timeout = 1\n",
            "llm.lmstudio.base_url",
            "x",
            '[llm]\nlmstudio.timeout = 1\nlmstudio.base_url = "x"\n',
        ),
        ("llm = { model = 'a' } # c\n", "llm.openai.timeout", "5", "llm = { model = 'a', openai.timeout = 5 } # c\n"),
        ("llm = {}\n", "llm.model", "b", 'llm = { model = "b" }\n'),
        ("[llm.openai]\ntimeout = 1\n", "llm.model", "b", '[llm.openai]\ntimeout = 1\n\n[llm]\nmodel = "b"\n'),
        ("", "llm.model", "b", '[llm]\nmodel = "b"\n'),
        ("# only this\r\n", "llm.model", "b", '# only this\r\n\r\n[llm]\r\nmodel = "b"\r\n'),
        ("\ufeffllm.model = 'a'\n", "llm.max_tokens", "5", "\ufeffllm.model = 'a'\nllm.max_tokens = 5\n"),
        ("[safety]\ndeny = [ # why\n  'a',\n] # c\n", "safety.deny", "b, c", '[safety]\ndeny = ["b", "c"] # c\n'),
        ("[llm]\ntemperature = 0.1\n", "llm.temperature", "1", "[llm]\ntemperature = 1\n"),
        ("[llm]\nmax_tokens = 'wrong'\n", "llm.max_tokens", "5", "[llm]\nmax_tokens = 5\n"),
    ],
)
def test_where_a_value_goes(tmp_path: Path, old: str, key: str, text: str, new: str) -> None:
    file = tmp_path / "localllm.toml"
    file.write_bytes(old.encode())
    set_value(file, key, text)
    assert file.read_bytes().decode() == new


@pytest.mark.parametrize(
    ("old", "key", "new"),
    [
        ("[llm]\r\n# a\r\nmodel = 'x' # b\r\nmax_tokens = 5", "llm.model", "[llm]\r\n# a\r\nmax_tokens = 5"),
        ("llm = {model = 'x', max_tokens = 5}\n", "llm.model", "llm = {max_tokens = 5}\n"),
        ("llm = {model = 'x', max_tokens = 5}\n", "llm.max_tokens", "llm = {model = 'x'}\n"),
        ("llm = {model = 'x'}\n", "llm.model", "llm = {}\n"),
        ("[commands.aliases]\na = 'x'\n# b\nb = 'y'\n", "commands.aliases", "[commands.aliases]\n# b\n"),
        ("commands.aliases = {a = 'x', b = 'y'}\n", "commands.aliases", ""),
        ("[safety]\ndeny = [\n'a',\n]\nallow = []\n", "safety.deny", "[safety]\nallow = []\n"),
    ],
)
def test_what_unsetting_takes_out(tmp_path: Path, old: str, key: str, new: str) -> None:
    file = tmp_path / "localllm.toml"
    file.write_bytes(old.encode())
    assert unset(file, key)
    assert file.read_bytes().decode() == new


def test_the_same_value_again_does_not_touch_the_file(tmp_path: Path) -> None:
    file = tmp_path / "localllm.toml"
    file.write_text("[llm]\nmax_tokens = 0x10\ntemperature = 1.0\n")
    before = file.stat()
    set_value(file, "llm.max_tokens", "16")
    set_value(file, "llm.temperature", "1")
    assert not unset(file, "llm.model")
    assert file.stat() == before


def test_a_missing_file_and_folder_are_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "localllm.toml"
    assert not unset(file, "llm.model")
    assert not file.parent.exists()
    set_value(file, "commands.aliases.a b", "x")
    assert file.read_text() == '[commands.aliases]\n"a b" = "x"\n'


def test_a_link_is_followed_and_the_mode_kept(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "localllm.toml"
    target.touch(0o640)
    link = tmp_path / "localllm.toml"
    link.symlink_to(target)
    set_value(link, "llm.model", "x")
    assert link.is_symlink()
    assert target.read_text() == '[llm]\nmodel = "x"\n'
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("old", "key", "text", "code", "what"),
    [
        ("", "llm.modle", "x", "E1003", "command line: unknown setting “llm.modle”."),
        ("", "commands.aliases.", "x", "E1003", "command line: unknown setting “commands.aliases.”."),
        ("", "llm", "x", "E1003", "command line: unknown setting “llm”."),
        ("", "llm.max_tokens", "8k", "E1004", "command line: “llm.max_tokens” is a string."),
        ("", "llm.temperature", "3", "E1004", "command line: “llm.temperature” is 3."),
        ("", "commands.aliases", "x", "E1004", "command line: “commands.aliases” is a string."),
        ("", "llm.openai.api_key", "sk-hidden", "E1005", "command line: “llm.openai.api_key” holds a secret."),
        (
            "",
            "llm.openai.base_url",
            "http://u:sk-hidden@h",
            "E1005",
            "command line: “llm.openai.base_url” holds a secret.",
        ),
        ("[llm]\nmodel = \n", "llm.model", "x", "E1002", "FILE:2: not valid TOML."),
        ("[ui]\n\n[llm]\nmodle = 'x'\n", "ui.theme", "dark", "E1003", "FILE:4: unknown setting “llm.modle”."),
        ("llm = 5\n", "llm.model", "x", "E1004", "FILE:1: “llm” is 5."),
        ("[llm]\napi_key = 'sk-hidden'\n", "llm.model", "x", "E1003", "FILE:2: unknown setting “llm.api_key”."),
        (
            "[llm.azure]\napi_key = 'sk-hidden'\n",
            "llm.model",
            "x",
            "E1005",
            "FILE:2: “llm.azure.api_key” holds a secret.",
        ),
        ("", "llm.model", "\udcff", "E1006", "Cannot write FILE."),
    ],
)
def test_errors_leave_the_file_as_it_is(tmp_path: Path, old: str, key: str, text: str, code: str, what: str) -> None:
    file = tmp_path / "localllm.toml"
    file.write_text(old)
    with pytest.raises(ConfigurationError) as raised:
        set_value(file, key, text)
    assert (raised.value.code, raised.value.what) == (code, what.replace("FILE", str(file)))
    assert "sk-hidden" not in str(raised.value) + repr(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["localllm.toml"]
    assert file.read_text() == old


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError) as raised:
        set_value(tmp_path / "file" / "localllm.toml", "llm.model", "x")
    assert raised.value.code == "E1006"


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "localllm.toml"
    file.write_text("# kept\n")
    program = """
import sys
from pathlib import Path
from localllm.config.editor import set_value
for number in range(20):
    set_value(Path(sys.argv[1]), f"commands.aliases.{sys.argv[2]}{number}", "x")
"""
    both = [subprocess.Popen([sys.executable, "-c", program, str(file), name]) for name in ("a", "b")]
    assert [process.wait(timeout=30) for process in both] == [0, 0]
    text = file.read_text()
    assert text.startswith("# kept\n")
    aliases = tomllib.loads(text)["commands"]["aliases"]
    assert set(aliases) == {f"{name}{number}" for name in "ab" for number in range(20)}
