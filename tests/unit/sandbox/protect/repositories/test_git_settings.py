"""Which changes of a repository's settings may stay."""

import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.git_config import parse
from localllm.sandbox.protect.repositories.git_settings import (
    address_from,
    harmless_settings,
    host_of,
    is_harmless_change,
    leads_inside,
    local_address,
)
from tests.support.each import each

PLAIN = b'[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.org/x\n\tfetch = +refs/*:refs/*\n'


def anywhere(key: str, value: str) -> bool:
    return bool(key and value)


def nowhere(key: str, value: str) -> bool:
    return not (key and value)


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_new_repository_is_harmless(tmp_path: Path, kind: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={kind}", tmp_path], check=True)
    settings = (tmp_path / ".git" / "config").read_bytes()
    assert is_harmless_change(b"", settings, anywhere)
    subprocess.run(["git", "init", "-q", tmp_path / "other"], check=True)
    before = (tmp_path / "other" / ".git" / "config").read_bytes()
    assert is_harmless_change(before, settings, anywhere) == (kind == "sha1")


def test_a_new_bare_repository_is_harmless(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path], check=True)
    assert is_harmless_change(b"", (tmp_path / "config").read_bytes(), anywhere)


def test_a_new_clone_is_harmless_unless_its_origin_is_odd(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "a"], check=True)
    subprocess.run(["git", "clone", "-q", tmp_path / "a", tmp_path / "b"], check=True, capture_output=True)
    settings = (tmp_path / "b" / ".git" / "config").read_bytes()
    assert b"url = " in settings
    assert is_harmless_change(b"", settings, anywhere)
    assert not is_harmless_change(b"", settings.replace(b"url = ", b"url = ext::"), anywhere)


@pytest.mark.parametrize(
    ("url", "harmless"),
    [
        ("../hub.git", True),
        ("/srv/x/.git", True),
        ("git@host:x/.hg/y", True),
        ("https://host/.hg/y", True),
        (".git/hub", False),
        ("/srv/x/.GIT//hub", False),
        ("file:///srv/x/.git/hub", False),
        ("a/../.hg", False),
    ],
)
def test_a_new_clone_comes_from_no_folder_with_hidden_hooks(url: str, harmless: bool) -> None:
    assert is_harmless_change(b"", PLAIN.replace(b"https://example.org/x", url.encode()), anywhere) == harmless


@pytest.mark.parametrize(
    "added",
    [
        "[user]\n\tname = Some One\n\temail = some@example.org\n",
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
        "# a remark\n",
        "[core]\n\tfilemode = true\n",
        "",
    ],
)
def test_harmless(added: str) -> None:
    assert is_harmless_change(PLAIN, PLAIN + added.encode(), anywhere)


@each(
    "added",
    [
        "[core]\n\tfsmonitor = ./evil\n",
        "[core]\n\thooksPath = evil\n",
        "[CORE]\n\tFSMONITOR = ./evil\n",
        "[core] fsmonitor = ./evil\n",
        "[core]\n\tbare = false\\\n\tfsmonitor = evil\n",
        '[core]\n\tbare = "false"\n',
        "[core]\n\tbare\n",
        "[core]\n\tbare = true\n",
        "[core]\n\tlogallrefupdates = false\n",
        "[core]\n\trepositoryformatversion = 1\n",
        "[alias]\n\tst = !evil\n",
        "[include]\n\tpath = ../evil\n",
        '[includeIf "gitdir:/"]\n\tpath = ../evil\n',
        '[filter "x"]\n\tclean = evil\n',
        '[remote "origin"]\n\turl = https://evil.example\n',
        '[url "https://evil.example"]\n\tinsteadOf = https://example.org\n',
        "[user]\n\tsigningkey = x\n",
        '[branch "main"]\n\tremote = ext::sh -c evil\n',
        '[branch "main"]\n\tremote = .hg\n',
        "[user]\n\tname = a\x0c[core]\n",
        "[user]\n\tname = a\r[core]\n",
        "\xff\n",
    ],
)
def test_not_harmless(added: str) -> None:
    assert not is_harmless_change(PLAIN, PLAIN + added.encode("latin-1"), anywhere)


def test_taking_a_setting_away_is_judged_like_adding_it() -> None:
    assert not is_harmless_change(PLAIN + b"[core]\n\tfsmonitor = false\n", PLAIN, anywhere)


def test_a_setting_that_moves_to_another_subsection_is_not_harmless() -> None:
    two = PLAIN + b'[remote "other"]\n\turl = https://evil.example/x\n'
    swapped = two.replace(b'"origin"', b'"o"').replace(b'"other"', b'"origin"').replace(b'"o"', b'"other"')
    assert not is_harmless_change(two, swapped, anywhere)
    rule = b'[url "https://a.example/"]\n\tinsteadOf = https://b.example/\n'
    assert not is_harmless_change(PLAIN + rule, PLAIN + rule.replace(b"a.example", b"evil.example"), anywhere)


@pytest.mark.parametrize("address", ["/srv/x", "../x", "file:///srv/x", "FILE:x"])
def test_a_folder_of_this_machine_may_be_refused(address: str) -> None:
    assert not is_harmless_change(b"", PLAIN.replace(b"https://example.org/x", address.encode()), nowhere)


@each(
    "written",
    [
        "url =  /srv/x",
        "url =\t/srv/x",
        "url   =\t \t../x",
        "url=  file:///srv/x",
        "url =  ssh://localhost/srv/x",
        "url = \tlocalhost:/srv/x",
        "url =  .hg",
    ],
)
def test_an_address_is_read_without_the_blanks_that_git_passes_over(tmp_path: Path, written: str) -> None:
    root = tmp_path / "a"
    settings = PLAIN.replace(b"url = https://example.org/x", written.encode())
    assert not is_harmless_change(b"", settings, lambda _key, value: leads_inside(root, root / ".git", value, []))


def test_other_white_space_belongs_to_an_address_as_in_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    settings = PLAIN.replace(b"https://example.org/x", "\N{EM SPACE}up\N{NO-BREAK SPACE}".encode())
    (tmp_path / ".git" / "config").write_bytes(settings)
    read = subprocess.run(["git", "config", "remote.origin.url"], cwd=tmp_path, check=True, capture_output=True)
    judged: list[str] = []
    is_harmless_change(b"", settings, lambda _key, value: not judged.append(value))
    assert judged == [read.stdout.decode().removesuffix("\n")]


def test_another_order_of_what_git_runs_is_not_harmless() -> None:
    first, second = b"[core]\n\tfsmonitor = ./evil\n", b"[core]\n\tfsmonitor = false\n"
    name = b"[user]\n\tname = Some One\n"
    assert not is_harmless_change(PLAIN + first + second, PLAIN + second + first, anywhere)
    assert not is_harmless_change(PLAIN + first + second, PLAIN + first + second + first, anywhere)
    assert is_harmless_change(PLAIN + name + first + second, PLAIN + first + second + name, anywhere)


@pytest.mark.parametrize("address", ["https://example.org/x", "host:x", "ssh://host/x", "git@host:a/b"])
def test_an_address_elsewhere_is_no_folder(address: str) -> None:
    assert local_address(address) == ""


def test_a_branch_follows_only_what_is_a_remote() -> None:
    assert not is_harmless_change(PLAIN, PLAIN + b'[branch "main"]\n\tremote = mirror\n', anywhere)


TWO = PLAIN + b'[remote "public"]\n\turl = https://example.org/y\n[branch "main"]\n\tremote = origin\n'


@each(
    ("added", "harmless"),
    [
        ('[branch "new"]\n\tremote = origin\n\tmerge = refs/heads/new\n', True),
        ('[branch "new"]\n\tremote = .\n\tmerge = refs/heads/main\n', True),
        ('[branch "new"]\n\tremote = public\n', False),
        ('[branch "main"]\n\tremote = public\n', False),
        ('[branch "main"]\n\tremote = .\n', False),
        ('[branch "main"]\n\tmerge = refs/heads/release\n', False),
        ('[branch "main"]\n\trebase = true\n', True),
    ],
)
def test_what_a_branch_follows_stays_and_a_new_one_follows_where_others_do(added: str, harmless: bool) -> None:
    assert is_harmless_change(TWO, TWO + added.encode(), anywhere) == harmless


def test_a_branch_follows_another_remote_only_in_a_new_repository() -> None:
    other = TWO.replace(b"remote = origin", b"remote = public")
    assert not is_harmless_change(TWO, other, anywhere)
    assert is_harmless_change(TWO, TWO.replace(b'[branch "main"]', b'[branch "old"]'), anywhere)
    assert is_harmless_change(b"", other, anywhere)


BOTH = TWO + b'[branch "contrib"]\n\tremote = public\n[branch "part"]\n\tremote = .\n'


@each(
    ("gone", "by", "harmless"),
    [
        ('[branch "main"]\n\tremote = origin\n', "", False),
        ('[branch "main"]', '[branch "old"]', False),
        ('[branch "contrib"]\n\tremote = public\n', "", False),
        ('[branch "part"]\n\tremote = .\n', "", False),
        ('[branch "part"]\n\tremote = .\n', '[branch "new"]\n\tremote = public\n[branch "part"]\n\tremote = .\n', True),
        ('[branch "main"]\n', '[branch "main"]\n\trebase = true\n', True),
    ],
)
def test_a_branch_goes_on_following_where_it_could_follow_another_remote_later(
    gone: str, by: str, harmless: bool
) -> None:
    assert gone in BOTH.decode()
    assert is_harmless_change(BOTH, BOTH.replace(gone.encode(), by.encode()), anywhere) == harmless


def test_a_branch_may_be_deleted_where_there_is_nothing_else_to_follow() -> None:
    one = PLAIN + b'[branch "main"]\n\tremote = origin\n[branch "done"]\n\tremote = origin\n'
    assert is_harmless_change(one, one.replace(b'[branch "done"]\n\tremote = origin\n', b""), anywhere)
    assert is_harmless_change(one, PLAIN, anywhere)
    assert not is_harmless_change(PLAIN + b'[branch "main"]\n\tremote = .\n', PLAIN, anywhere)


def test_settings_full_of_remarks_are_not_harmless() -> None:
    assert not is_harmless_change(PLAIN, PLAIN + b"#" * 70_000 + b"\n", anywhere)


@each(
    ("address", "settings", "leads"),
    [
        ("https://example.org/x", "", True),
        ("../hub", "", True),
        ("hub", "", True),
        ("../../hub", "", False),
        ("../mirror", "", False),
        ("../up", "", False),
        ("~/x", "", False),
        ("file://localhost/srv/x", "", False),
        ("file://a/", "", False),
        ("ssh://git@localhost:22/srv/x", "", False),
        ("ann@127.0.0.1:x", "", False),
        ("[::1]:x", "", False),
        ("0:x", "", False),
        ("ann@127.1:x", "", False),
        ("2130706433:x", "", False),
        ("ip6-localhost:x", "", False),
        ("localhost.:x", "", False),
        ("me.localhost:x", "", False),
        ("[localhost:22]:x", "", False),
        ("ann@[::1]:x", "", False),
        ("[ann@::1]:x", "", False),
        ("[::ffff:127.0.0.1]:x", "", False),
        ("ssh://0.0.0.0/x", "", False),
        ("ssh://a@b@localhost/x", "", False),
        ("ssh://[0:0:0:0:0:0:0:1]:22/x", "", False),
        ("ssh://localhost.localdomain/x", "", False),
        ("ssh://local%68ost/x", "", False),
        ("git+ssh://0x7f.1/x", "", False),
        ("ssh://git@[2001:db8:0:0:0:0:0:1]:22/x", "", True),
        ("git@10.0.0.1:x", "", True),
        ("ssh://git@example.org:2222/x", "", True),
        ("localhost/x", "", True),
        ("http://localhost:3000/x", "", True),
        ("git@localhost.example.org:x", "", True),
        ("mine:x", "", True),
        ("mine:x", '[url "{out}/"]\ninsteadOf = mine:', False),
        ("mine:x", '[url "https://example.org/"]\ninsteadOf = mine:', True),
        ("https://example.org/x", '[url "{out}/"]\npushInsteadOf = https://example.org/', False),
        ("mine:x", '[url "ext::sh -c "]\ninsteadOf = mine:', False),
    ],
)
def test_a_remote_leads_to_the_project_or_to_another_machine(
    tmp_path_factory: pytest.TempPathFactory, address: str, settings: str, leads: bool
) -> None:
    out = tmp_path_factory.mktemp("out").resolve()
    root = out / "project"
    (root / "deep/er/repo/.git").mkdir(parents=True)
    (root / "deep/er/mirror").write_text("gitdir: elsewhere")
    (root / "deep/er/up.git").symlink_to(out)
    user = list(parse(settings.replace("{out}", str(out)).encode()))
    assert leads_inside(root, root / "deep/er/repo/.git", address, user) == leads


def test_of_kept_settings_no_remote_comes_back_that_leads_elsewhere() -> None:
    content = PLAIN + b'[remote "b"]\n\turl = /srv/x\n[core]\n\tfsmonitor = touch\n'
    kept = harmless_settings(content, lambda address: not address.startswith("/"))
    assert b"https://example.org/x" in kept
    assert b"/srv/x" not in kept
    assert b"touch" not in kept


@pytest.mark.parametrize("remote", ["ext::sh -c evil", ".hg", "../beside", "https://evil.example/x", ""])
def test_of_kept_settings_no_branch_follows_what_is_no_name_of_a_remote(remote: str) -> None:
    kept = '[branch "main"]\n\tmerge = refs/heads/main\n[branch "other"]\n\tremote = origin\n'
    content = PLAIN + kept.encode() + f'[branch "main"]\n\tremote = {remote}\n'.encode()
    settings = harmless_settings(content, lambda _: True)
    assert list(parse(settings)) == list(parse(PLAIN + kept.encode()))


@each(
    ("address", "host"),
    [
        ("https://GitHub.com/x/y.git", "github.com"),
        ("https://me:token@host.example:8443/x", "host.example"),
        ("ssh://git@host.example:22/x", "host.example"),
        ("git+ssh://host.example/x", "host.example"),
        ("git@host.example:x/y.git", "host.example"),
        ("host.example:x", "host.example"),
        ("git://10.0.0.7/x", "10.0.0.7"),
        ("https://listed.example@evil.example/x", "evil.example"),
        ("https://listed.example\\@evil.example/x", ""),
        ("https://listed.example#@evil.example/x", ""),
        ("https://[::1]/x", ""),
        ("ext::sh -c evil", ""),
        ("../up", ""),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize(
    "base",
    ["https://host.example/me/x.git", "git@host.example:me/x.git", "host.example:x", "ssh://host.example/me/x/"],
)
@pytest.mark.parametrize("address", ["../lib.git", "./lib", "../../lib.git/", "https://other.example/lib"])
def test_a_relative_address_of_a_submodule_is_that_of_git(tmp_path: Path, base: str, address: str) -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("remote", "add", "origin", base)
    (tmp_path / ".gitmodules").write_text(f'[submodule "lib"]\n\tpath = lib\n\turl = {address}\n')
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    git("submodule", "-q", "init")
    assert address_from(base, address) == git("config", "submodule.lib.url").strip()
