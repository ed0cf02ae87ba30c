"""What the request forbids to do with commands: commits, and runs of files."""

import subprocess
from pathlib import Path

import pytest

from localllm.agent.phrases.request_phrases import asks_for_commit, banned_runs, forbids_commit
from localllm.config.schema import SafetySettings
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import line_of
from localllm.tools.banned_commands import commits, files_changed, files_run, may_be_dry, records
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import Answering, call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    "request_",
    [
        "Quote the cd in backup.sh, but do not commit.",
        "Fix it. Don't commit it yet.",
        "Fix the typo and don't commit anything",
        "Fix it without committing.",
        "Fix it, no commits please.",
        "Rename f to g (no commit!)",
        "Stage the change, but please don't create a commit.",
        "Never commit or push. Fix a.py.",
        "Don't commit until I've looked at it.",
        "Fix a.py; leave the changes uncommitted.",
        "Fix a.py. Nothing must be committed.",
        "Fix a.py, I'll commit it myself.",
        "No need to commit. Fix a.py.",
        "backup.sh の cd を引用符で囲んで。コミットはしないで。",
        "a.py を直して。まだコミットしないでください。",
        "a.py を直して、コミットせずに差分を見せて",
        "a.py を直して。コミット不要。",
        "a.py を直して（コミットはしなくていいです）",
        "git commit はしないこと。a.py を直して。",
        "a.py を直して。コミットやプッシュはしないように。",
        "a.py を直して。コミットは自分でします。",
        "私が確認するまでコミットしないで。",
        "コミットは禁止です。",
        "a.py を直して。コミットするな。",
    ],
)
def test_a_ban_on_commits(request_: str) -> None:
    assert forbids_commit(request_)
    assert not asks_for_commit(request_)


@each(
    "request_",
    [
        "Fix a.py and commit it.",
        "Fix a.py. Don't commit yet, run the tests first, then commit.",
        "Commit a.py, but don't commit b.py.",
        "Commit it, and don't commit secrets.json",
        "Don't commit to main, use a branch.",
        "Don't commit if the tests fail.",
        "Don't commit until the tests pass.",
        "Why do the hooks not commit anything?",
        "Add an option so that we don't commit large files.",
        "Find out which threads do not commit.",
        "There are no commits by Sato in this branch?",
        "Commit with no commit body.",
        "Show me the uncommitted changes.",
        "a.py を直してコミットして。",
        "テストが通らなければコミットしないで。",
        "テストが通るまでコミットしないで。",
        "main にはコミットしないで、ブランチを作ってコミットして。",
        "コミットメッセージは不要な行を消して",
        "なぜコミットされないの？",
        "コミットしないとどうなりますか？",
        "コミットできない原因を調べて",
        "最後のコミットを教えて",
        "コミットされていない変更を見せて",
        "a.py を直して。b.py はコミットしないで。",
        "秘密のファイルをコミットしないようにして",
        "オフセットは自動コミットしないように変えて",
        "トランザクションをコミットせずに終わるバグを直して",
        "README.md に「生成物はコミットしないこと」と書いて",
        "",
    ],
)
def test_no_ban_on_commits(request_: str) -> None:
    assert not forbids_commit(request_)


@each(
    ("command", "is_commit"),
    [
        ("git commit -m x", True),
        ("git add -A && git -C . -c user.name=a commit -qam x", True),
        ("bash -c 'git commit -m x'", True),
        ("timeout 5 git commit --amend", True),
        ("git log --grep commit", False),
        ("grep -rn 'git commit' docs", False),
        ("echo git commit", False),
        ("git show commit", False),
        ("git log --oneline && $PAGER commit.txt", False),
        ("pre-commit run --all-files", False),
    ],
)
def test_commands_that_commit(command: str, is_commit: bool) -> None:
    assert commits(line_of(command)) == is_commit


FIX = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")
COMMIT = call("git_commit", message="Set x to 2")
BY_COMMAND = call("run_command", command="git -c user.name=a -c user.email=a@example.org commit -qam 'Set x to 2'")
REQUEST = "Set x to 2 in a.py, but do not commit."
ANSWER = "x is 2 in a.py; nothing was run."


async def test_no_commit_is_made_where_nobody_is_there(tmp_path: Path) -> None:
    repository(tmp_path)
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(FIX, COMMIT, BY_COMMAND, ANSWER, COMMIT, "Committed."), tmp_path, tools=tools)
    result = await agent.execute_query(REQUEST)
    assert result.status == "done"
    assert (subjects(tmp_path), (tmp_path / "a.py").read_text()) == (["first"], "x = 2\n")
    await agent.execute_query("Now commit it.")
    assert subjects(tmp_path) == ["Set x to 2", "first"]


async def test_a_person_is_asked_about_it_in_this_turn_and_while_it_goes_on(tmp_path: Path) -> None:
    repository(tmp_path)
    confirmer = Answering(approve=False)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    agent = make_agent(scripted(FIX, BY_COMMAND, ANSWER, COMMIT, ANSWER), tmp_path, tools=tools)
    await agent.execute_query(REQUEST)
    await agent.execute_query("Go on.")
    assert [one.reason for one in confirmer.asked] == ["You asked that nothing be committed."] * 2
    assert subjects(tmp_path) == ["first"]


def repository(folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    git(folder, "init", "-q")
    for name, value in (("user.name", "a"), ("user.email", "a@example.org")):
        git(folder, "config", name, value)
    git(folder, "add", "a.py")
    git(folder, "commit", "-qm", "first")


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s").splitlines()


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@each(
    ("request_", "files", "dry"),
    [
        ("Explain app.py. Do not run app.py.", ["app.py"], []),
        ("Don't actually execute deploy.sh or `backup.sh`, just read them.", ["deploy.sh", "backup.sh"], []),
        ("Explain what deploy.sh does without running it.", ["deploy.sh"], []),
        ("Fix scripts/deploy.sh, but don't run it.", ["scripts/deploy.sh"], []),
        ("deploy.sh must not be run. Explain it.", ["deploy.sh"], []),
        ("app.py は実行しないで、読むだけで動作を説明して", ["app.py"], []),
        ("app.pyは絶対に実行しないでください。動作を説明して", ["app.py"], []),
        ("deploy.sh を実行せずに内容を説明して", ["deploy.sh"], []),
        ("deploy.sh を直して。実行はしないで。", ["deploy.sh"], []),
        ("server.py を直して。server.py は起動しないこと。", ["server.py"], []),
        ("deploy.sh は動かさないで、説明だけして", ["deploy.sh"], []),
        ("deploy.sh を直して。実行するな。", ["deploy.sh"], []),
        ("server.py は動かすな。説明だけして", ["server.py"], []),
        ("Don't run deploy.sh. Fix the bug and then run the unit tests.", ["deploy.sh"], []),
        ("修正した後に shellcheck を実行して。deploy.sh は実行しないで。", ["deploy.sh"], []),
        ("Run deploy.sh in dry-run only, then tell me what it would do.", [], ["deploy.sh"]),
        ("First read deploy.sh. Run deploy.sh with --dry-run without changing it.", [], ["deploy.sh"]),
        ("Run deploy.sh in dry-run only, nothing must be deployed", [], ["deploy.sh"]),
        ("Run deploy.sh with --dry-run", [], ["deploy.sh"]),
        ("deploy.sh をドライランだけで実行して", [], ["deploy.sh"]),
        ("まず中身を読んで。deploy.sh はドライランだけで実行して。その後、結果を教えて", [], ["deploy.sh"]),
        ("本番には反映せず、deploy.sh を dry-run のみで動かして", [], ["deploy.sh"]),
        ("deploy.sh は dry-run のみで動かして", [], ["deploy.sh"]),
    ],
)
def test_files_that_are_not_to_be_run(request_: str, files: list[str], dry: list[str]) -> None:
    assert banned_runs(request_) == (files, dry)


@each(
    "request_",
    [
        "Run app.py and explain what it prints.",
        "Why does app.py not run?",
        "Don't run app.py as root.",
        "Don't run app.py until it is fixed.",
        "Don't run app.py yet. Fix it, then run it.",
        "If you do not run app.py, nothing is written.",
        "The server does not start app.py at boot, fix it.",
        "Don't run the tests. Fix app.py.",
        "Don't run deploy.sh's cleanup.",
        "Fix a.py with the help of b.py. Don't run it.",
        "Run deploy.sh with --dry-run first, then for real.",
        "Run deploy.sh with --dry-run, then deploy.",
        "First run deploy.sh with --dry-run. I'll look at it.",
        "Fix app.py. Don't run it yet: check it, then run app.py.",
        "Add a --dry-run option to deploy.sh.",
        "app.py を実行して結果を教えて",
        "app.py が実行できない原因を調べて",
        "app.py を実行しないとどうなる？",
        "app.py を実行しない場合の動作を説明して",
        "app.py がなぜ起動しないのか調べて",
        "app.py は直してから実行して。まだ実行しないで。",
        "テストは実行しないで、app.py を直して",
        "app.py の main は実行しないで、import だけして",
        "まず deploy.sh を dry-run で試して、問題なければ本番で実行して",
        "deploy.sh に dry-run オプションを追加して",
        "deploy.sh を dry-run で動かして、その後本番で実行して",
        "まず deploy.sh を dry-run で動かして。結果を見ます",
        "app.py が server.py を起動しないように直して",
        "README.md に「deploy.sh は実行しないこと」と書いて",
        "Docker で app.py を実行せずに終わるので直して",
        "",
    ],
)
def test_files_that_may_be_run(request_: str) -> None:
    assert banned_runs(request_) == ([], [])


@each(
    ("command", "files"),
    [
        ("python3 -u app.py --port 1", ["app.py"]),
        ("cd /tmp; timeout 5 bash -x scripts/deploy.sh", ["scripts/deploy.sh"]),
        ("scripts/deploy.sh && ./app.py", ["scripts/deploy.sh", "app.py"]),
        ("A=1 nohup ./app.py &", ["app.py"]),
        ("sh -c '. deploy.sh'", ["deploy.sh"]),
        ("uv run app.py", ["app.py"]),
        ("python3 -m pkg.app", ["pkg/app.py"]),
        ("cat app.py; wc -l scripts/deploy.sh", []),
        ("bash -n deploy.sh; python3 -m py_compile app.py; node --check a.js", ["py_compile.py"]),
        ("npx eslint src/a.js", []),
        ("chmod +x deploy.sh && shellcheck deploy.sh", []),
        ("python3 test_app.py", ["test_app.py"]),
        ("bash -e deploy.sh; sh -l -x deploy.sh", ["deploy.sh"]),
        ("bash -euo pipefail deploy.sh", ["pipefail", "deploy.sh"]),
        ("python3 -W ignore app.py app.toml", ["ignore", "app.py"]),
        ("cd scripts && ./deploy.sh", ["deploy.sh", "scripts/deploy.sh"]),
        ("bash < deploy.sh", ["deploy.sh"]),
        ("pytest -q tests/test_db.py::test_a", ["tests/test_db.py"]),
        ("python3 -m pdb app.py", ["pdb.py", "app.py"]),
        ("python3 -m mypy app.py", ["mypy.py"]),
        ("python3 *.py", ["*.py", "only.py"]),
        ("python3 -c 'import app, sys; from pkg.b import c'", ["app.py", "pkg/b.py"]),
        ("uvicorn app:app", ["app.py"]),
        ("fastapi dev app.py", ["dev.py", "app.py"]),
        ("perl -c a.pl; php -l a.php; bash -nv deploy.sh", []),
    ],
)
def test_files_that_a_command_runs(tmp_path: Path, command: str, files: list[str]) -> None:
    (tmp_path / "only.py").touch()
    assert list(dict.fromkeys(files_run(line_of(command), ".", ProjectRoot(tmp_path)))) == files


async def test_a_file_that_must_not_be_run_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("open('out.txt', 'w')\n")
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    run = call("run_command", command="python3 app.py")
    answer = "app.py would make an empty out.txt."
    agent = make_agent(scripted(run, answer, run, "It made out.txt."), tmp_path, tools=tools)
    result = await agent.execute_query("Explain what app.py does without running it.")
    assert (result.status, (tmp_path / "out.txt").exists()) == ("done", False)
    await agent.execute_query("Run app.py.")
    assert (tmp_path / "out.txt").exists()


async def test_only_a_dry_run_of_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "deploy.sh").write_text('echo x > "out$1.txt"\n')
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    real, dry = (call("run_command", command=f"bash deploy.sh{option}") for option in ("", " --dry-run"))
    agent = make_agent(scripted(real, dry, "The dry run worked."), tmp_path, tools=tools)
    await agent.execute_query("Run deploy.sh in dry-run only, nothing must be deployed.")
    assert [one.name for one in tmp_path.glob("out*")] == ["out--dry-run.txt"]


@each(
    ("command", "is_dry"),
    [
        ("bash deploy.sh", False),
        ("DRY_RUN=1 bash deploy.sh", True),
        ("./deploy.sh -n", True),
        ("bash deploy.sh --host web1", False),
        ("bash deploy.sh 2>&1 | head -n 20", False),
        ("git checkout main && ./deploy.sh > plan.txt; bash -n deploy.sh", False),
        ("export DRY_RUN=1; ./deploy.sh", True),
        ("env NOOP=1 bash -x scripts/deploy.sh", True),
        ("python3 -m deploy --dry-run", True),
    ],
)
def test_commands_that_may_be_dry_runs(command: str, is_dry: bool) -> None:
    assert may_be_dry(line_of(command), ["scripts/deploy.sh"]) == is_dry


@each(
    ("command", "is_recorded"),
    [
        ("git tag -a v1 -m x", True),
        ("git tag v1", True),
        ("git branch -rd origin/x", True),
        ("git notes add -m x", True),
        ("git symbolic-ref HEAD refs/heads/x", True),
        ("git tag; git tag -n3; git tag -l 'v*'; git tag --points-at HEAD", False),
        ("git branch -a; git branch -r -v; git branch -a --contains HEAD; git notes show", False),
        ("git commit --dry-run; git symbolic-ref --short HEAD", False),
    ],
)
def test_what_changes_what_git_has_recorded(command: str, is_recorded: bool) -> None:
    assert records(line_of(command)) == is_recorded


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat a.py 2>/dev/null", []),
        ("python3 a.py > $TMPDIR/out; sed -n 1p a.py", []),
        ("cp a.py /tmp/a.py && sed s/1/2/ a.py", []),
        ("git checkout -b new; git stash list; git log -p a.py", []),
        ("rm -rf /tmp/none; ls", []),
        ("pytest -q a.py", []),
        ("perl -Mstrict -Ilib -ne 'print if /x/' a.py; perl -ne'print if 1' a.py; sed -nes/if/x/p a.py", []),
        ("ruby -ruri a.py; perl -Ilib a.py", []),
        ("git clean -ndx; git apply --check x.diff; patch --dry-run a.py x.diff; git rm --dry-run a.py", []),
        ("git apply --stat --apply x.diff", ["."]),
        ("git merge --no-stat -n other", ["."]),
        ("sed -ri s/1/2/ a.py", ["a.py"]),
        ("perl -0777pie s/1/2/ a.py", ["a.py"]),
        ("sed -i.bak s/1/2/ a.py", ["a.py"]),
        ("sed -i '/x/d' a.py", ["a.py"]),
        ("sed -i '' '/../,$d' a.py", ["a.py"]),
        ("sed -i '1i\\\nimport os' a.py", ["a.py"]),
        ("cd sub && sed -i 1d y.py", ["y.py", "sub/y.py"]),
        ("perl -pi -e s/1/2/ a.py", ["a.py"]),
        ("cp x.py sub/y.py", ["sub/y.py"]),
        ("cd sub && rm -f z", ["z", "sub/z"]),
        ("bash -c 'echo 1 > a.py'", ["a.py"]),
        ("git -C . restore a.py", ["."]),
        ("git restore --staged a.py sub/y.py; git checkout -- a.py; git checkout HEAD a.py", ["a.py", "sub/y.py"]),
        ("git checkout main -- a.py; git checkout", [".", "a.py"]),
        ("git restore $F; git checkout -f", ["."]),
        ("git checkout .", ["."]),
        ("git checkout -- ../b.py", ["."]),
    ],
)
def test_which_files_a_command_names_to_change(tmp_path: Path, command: str, files: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.py", "sub/y.py"):
        (tmp_path / name).touch()
    assert list(dict.fromkeys(files_changed(line_of(command), ".", ProjectRoot(tmp_path)))) == files


def test_very_many_files_in_many_folders_may_be_any(tmp_path: Path) -> None:
    """Each is looked for from every folder that the line enters."""
    line = line_of("; ".join(f"cd d{number}; rm -f a{number}; sed -i 1d b{number}" for number in range(80)))
    assert files_changed(line, ".", ProjectRoot(tmp_path)) == ["."]
    assert len(files_changed(line_of(f"rm -f {' '.join(map(str, range(900)))}"), ".", ProjectRoot(tmp_path))) == 900
