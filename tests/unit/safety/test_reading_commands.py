"""Commands that only read the project, and those that only look so."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from localllm.safety.paths import ProjectRoot
from localllm.safety.reading_commands import Place, only_reads, without_filters, without_move
from localllm.sandbox.git_config import Setting
from tests.support.each import each
from tests.support.tools import put


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is copied for every test."""
    root = tmp_path_factory.mktemp("prepared")
    put(root / "src/a.py", "x = 1\n")
    put(root / "README.md", "read\n")
    put(root / "bin/ls", "#!/bin/sh\n").chmod(0o755)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(root)]
    subprocess.run([*git, "init", "-q", "--template="], check=True)
    subprocess.run([*git, "add", "src", "README.md"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    return root


@pytest.fixture
def project(prepared: Path, tmp_path: Path) -> Path:
    root = tmp_path / "project"
    shutil.copytree(prepared, root)
    put(tmp_path / "outside/secret", "secret\n")
    (root / "leads_out").symlink_to(tmp_path / "outside")
    (root / "linked.md").symlink_to("README.md")
    return root.resolve()


def reads(project: Path, line: str, *, folder: str = ".", closed: tuple[str, ...] = (), search: str = "/bin") -> bool:
    return only_reads(line, Place(project, folder, ProjectRoot(project).relative, closed, search))


@pytest.mark.parametrize(
    "line",
    [
        "pwd",
        "ls",
        "ls -la src",
        "ls -R --color=never src | head -50",
        "cat README.md src/a.py",
        "cat linked.md",
        "head -n 20 README.md; tail -5 README.md; tail -n +3 README.md",
        "wc -l src/*.py",
        "cat *.md",
        "grep -rn 'def /main' src --include=*.py",
        "grep -A3 -e x -- README.md",
        "rg -n --glob '*.py' 'x = 1' src",
        "rg --files src",
        "find . -type f -name '*.py' -not -path './node_modules/*' 2>/dev/null",
        "find src -maxdepth 2 \\( -name a -o -name b \\)",
        "sort -t, -k2 README.md | uniq -c | sort -rn",
        "cut -d' ' -f1 README.md | tr a-z A-Z",
        "git status",
        "git status --short --branch",
        "git log --oneline -5",
        "git --no-pager log --format='%h %s' -n 3 -- src",
        "git diff HEAD~1 --stat",
        "git diff",
        "git show HEAD:src/a.py",
        "echo '--- a'; cat README.md",
        "cat README.md || true",
    ],
)
def test_what_only_reads(project: Path, line: str) -> None:
    assert reads(project, line)


def test_an_absolute_path_into_the_project_and_one_from_a_folder(project: Path) -> None:
    assert reads(project, f"cat {project}/README.md")
    assert reads(project, "cat ../README.md", folder="src")
    assert not reads(project, "cat ../../outside/secret", folder="src")


@pytest.mark.parametrize(
    "line",
    [
        # out of the project
        "cat /etc/passwd",
        "cat ../outside/secret",
        "cat leads_out/secret",
        "ls leads_out",
        "cat src/../../outside/secret",
        "grep -r secret leads_out/",
        "grep x README.md /etc/passwd",
        "cat l*/secret",
        "cat leads_*",
        "ls *",
        "ls .*",
        "grep -r x .?",
        "head -n 5 -- /etc/passwd",
        "find / -name x",
        "find src /etc -name x",
        "cat ~/.ssh/id_ed25519",
        "cat '~/x'",
        "cat $HOME/x",
        'cat "$HOME/x"',
        "cat {README.md,/etc/passwd}",
        "cat leads_ou{t..t}/secret",
        "grep -f /etc/passwd README.md",
        "grep -rf leads_out/secret .",
        "grep --file=/etc/passwd x",
        "grep -R secret .",
        "rg -L secret",
        "rg --follow secret",
        "rg -f leads_out/secret .",
        "rg --files /etc",
        "rg -e x /etc",
        "grep -e x /etc/passwd",
        "ls -L leads_out",
        "find -L . -name x",
        "find . -follow",
        "find . -files0-from /etc/passwd",
        "wc --files0-from=/etc/passwd",
        "sort --files0-from=x",
        "git diff --no-index README.md /etc/passwd",
        "git diff README.md /etc/passwd",
        "git -C /etc log",
        "git --git-dir=/x log",
        "git log -- :(top)../x",
        # running something
        "find . -exec cat {} \\;",
        "find . -execdir sh -c x \\;",
        "find . -ok rm {} \\;",
        "rg --pre ./x y",
        "rg --pre=./x y",
        "rg -z x",
        "sort --compress-program=./x README.md",
        "git -c core.pager=./x log",
        "git -c alias.log='!x' log",
        "git -p log",
        "git diff --ext-diff",
        "git log --textconv -p",
        "git log --format=%G?",
        "git log --show-signature",
        "git grep -O./x y",
        "bin/ls",
        "./bin/ls",
        "bash -c ls",
        "env ls",
        "xargs cat",
        "cat README.md | sh",
        "command ls",
        "eval ls",
        "LD_PRELOAD=./x ls",
        "PATH=bin ls",
        "ls() { rm x; }; ls",
        "alias ls=rm; ls",
        "awk '{print}' README.md",
        "sed -n 1p README.md",
        "cat README.md & rm x",
        "cat README.md\nrm x",
        "cat README.md\r\nrm x",
        "cat README.md #\nrm x",
        "cat README.md \\\n; rm x",
        "ls $(rm x)",
        "ls `rm x`",
        'ls "`rm x`"',
        "cat <(rm x)",
        # writing
        "find . -delete",
        "find . -fprint x",
        "find . -fls x",
        "find . -fprintf x %p",
        "sort -o x README.md",
        "sort -ox README.md",
        "sort --output=x README.md",
        "sort --out=x README.md",
        "sort -T bin README.md",
        "uniq README.md x",
        "git diff --output=x",
        "git log --output x",
        "git diff -Ox",
        "git branch x",
        "git status --porcelain > x",
        "echo x > y",
        "echo x >> y",
        "cat README.md | tee x",
        "tail -f README.md",
        "tail --follow README.md",
        "cp README.md x",
        "git commit -m x",
        "git checkout .",
        "git log | cat > x",
    ],
)
def test_what_is_asked_about(project: Path, line: str) -> None:
    assert not reads(project, line)


@each(
    ("line", "rest"),
    [
        ("make test 2>&1 | tail -20", "make test"),
        (" make test 2>&1 ", "make test"),
        ("cd src && make 2>/dev/null | grep -iE 'error|warn' | sort -u | head", "cd src && make"),
        ("make; ls | wc -l", "make; ls"),
        ("make | grep -c x | tee log", "make | grep -c x | tee log"),
        ("make | tail -5 README.md", "make | tail -5 README.md"),
        ("make | grep -r x", "make | grep -r x"),
        ("make | grep -in --recursive x", "make | grep -in --recursive x"),
        ("make | tail -f", "make | tail -f"),
        ("make | sort -o x", "make | sort -o x"),
        ("make | grep x*", "make | grep x*"),
        ("make | ./tail", "make | ./tail"),
        ("make | xargs rm | tail", "make | xargs rm"),
        ("make && tail -5", "make && tail -5"),
        ("make > log | tail", "make > log | tail"),
        ("make $X | tail", "make $X | tail"),
        ("tail", "tail"),
    ],
)
def test_what_only_filters_the_output_is_no_part_of_a_command(project: Path, line: str, rest: str) -> None:
    assert without_filters(line, Place(project, ".", ProjectRoot(project).relative, search="/bin")) == rest


@each(
    ("line", "rest"),
    [
        ("cd src && pytest -q", "pytest -q"),
        (" cd 'src' 2>/dev/null && make && make test ", "make && make test"),
        ("cd src && cd .. && make", "make"),
        ("cd src && cd ../.. && make", "cd ../.. && make"),
        ("cd src; make", "cd src; make"),
        ("cd src || make", "cd src || make"),
        ("cd src", "cd src"),
        ("cd && make", "cd && make"),
        ("cd - && make", "cd - && make"),
        ("cd ~ && make", "cd ~ && make"),
        ("cd -P src && make", "cd -P src && make"),
        ("cd .. && make", "cd .. && make"),
        ("cd /tmp && make", "cd /tmp && make"),
        ("cd out && make", "cd out && make"),
        ("cd s* && make", "cd s* && make"),
        ("cd nowhere && make", "cd nowhere && make"),
        ("cd README.md && make", "cd README.md && make"),
        ("cd secret && make", "cd secret && make"),
        ("cd $X && make", "cd $X && make"),
        ("cd src && make > log", "cd src && make > log"),
        ("make && cd src && pytest", "make && cd src && pytest"),
    ],
)
def test_entering_a_folder_of_the_project_is_no_part_of_a_command(project: Path, line: str, rest: str) -> None:
    for folder in ("src", "secret"):
        (project / folder).mkdir(exist_ok=True)
    if not (project / "out").is_symlink():
        (project / "out").symlink_to("/tmp")
    place = Place(project, ".", ProjectRoot(project).relative, closed=("secret",), search="/bin")
    assert without_move(line, place) == rest


def test_a_filter_of_the_project_is_a_part_of_a_command(project: Path) -> None:
    put(project / "bin/tail", "#!/bin/sh\n").chmod(0o755)
    place = Place(project, ".", ProjectRoot(project).relative, search=f"{project}/bin")
    assert without_filters("make | tail", place) == "make | tail"


def test_a_file_called_like_an_option_is_no_option(project: Path) -> None:
    put(project / "--pre=x")
    assert not reads(project, "rg x *")
    assert not reads(project, "sort *")


@each(
    "line",
    ["find *", "find * -name x", "find . -name *", "find src -iname *e", "uniq *.md", "uniq R*", "git log --format=*"],
)
def test_file_names_that_may_become_options_or_outputs_are_asked_about(project: Path, line: str) -> None:
    put(project / "-a")
    put(project / "-delete")
    put(project / "OTHER.md")
    assert not reads(project, line)


@each("line", ["find src/*", "find . -name *.py", "find src -name '*'", "sort src/*", "uniq README.md"])
def test_file_names_that_cannot_become_options_are_not(project: Path, line: str) -> None:
    assert reads(project, line)


@each("written", ["%+G?", "%-GG", "% GK", "%h%+GS", "%w(80)%G?", "%<(9)%+G?", "%x25%G?"])
def test_formats_that_check_signatures_are_asked_about(project: Path, written: str) -> None:
    for option in ("--format=", "--pretty=", "--pretty=tformat:"):
        assert not reads(project, f"git log '{option}{written}'")
    with (project / ".git/config").open("a") as file:
        file.write(f'[pretty]\nx = "{written}"\n')
    assert not reads(project, "git log --pretty=x")


def test_a_program_elsewhere_that_leads_into_the_project_is_asked_about(project: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/ls").symlink_to(project / "bin/ls")
    assert not reads(project, "ls", search=f"{tmp_path}/tools:/bin")
    assert reads(project, "wc README.md", search=f"{tmp_path}/tools:/bin")


def test_a_pattern_that_stands_for_links_out_is_asked_about(project: Path) -> None:
    (project / "src/b.py").symlink_to(project.parent / "outside/secret")
    assert not reads(project, "cat src/*.py")


@pytest.mark.parametrize(
    "line", ["cat secret/x", "ls secret", "grep -r x .", "grep -rn x", "ls", "git log -p", "find ."]
)
def test_what_is_closed_to_reading_is_asked_about(project: Path, line: str) -> None:
    put(project / "secret/x")
    assert not reads(project, line, closed=("secret",))
    assert reads(project, "cat README.md", closed=("secret",))


@pytest.mark.parametrize("search", ["{root}/bin:/bin", "bin:/bin", ":/bin", ".:/bin"])
def test_a_program_of_the_project_is_asked_about(project: Path, search: str) -> None:
    assert not reads(project, "ls", search=search.format(root=project))


def test_another_folder_of_the_project_may_be_searched(project: Path) -> None:
    assert reads(project, "ls", search=os.pathsep.join([f"{project}/src", "/bin"]))


@pytest.mark.parametrize(
    "setting",
    [
        "[core]\nfsmonitor = ./x",
        "[core]\nhooksPath = x",
        "[diff]\nexternal = ./x",
        '[diff "a"]\ntextconv = ./x',
        '[filter "a"]\nclean = ./x',
        "[include]\npath = x",
        "[log]\nshowSignature = true",
        '[pretty]\nx = "%G?"',
        "[core]\npager = ./x",
        "[gpg]\nprogram = ./x",
        "[pager]\nlog = ./x",
        '[remote "x"]\npromisor = true',
        "[diff]\nsubmodule = diff",
        "[diff]\nsubmodule = log",
        "[status]\nsubmoduleSummary",
    ],
)
def test_a_repository_whose_settings_run_something_is_asked_about(project: Path, setting: str) -> None:
    with (project / ".git/config").open("a") as file:
        file.write(setting + "\n")
    assert not reads(project, "git status")
    assert reads(project, "cat README.md")


def test_a_repository_with_a_hook_or_another_repository_in_it_is_asked_about(project: Path) -> None:
    put(project / ".git/hooks/post-index-change", "#!/bin/sh\n")
    assert not reads(project, "git status")
    (project / ".git/hooks/post-index-change").unlink()
    assert reads(project, "git status")
    commit = subprocess.run(["git", "-C", project, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    entry = f"160000,{commit.stdout.strip()},sub"
    subprocess.run(["git", "-C", project, "update-index", "--add", "--cacheinfo", entry], check=True)
    assert not reads(project, "git status")


def test_a_repository_with_a_pipe_for_an_index_is_asked_about(project: Path) -> None:
    (project / ".git/index").unlink()
    os.mkfifo(project / ".git/index")
    assert not reads(project, "git status")


def test_no_repository_and_one_around_the_project_are_asked_about(project: Path, tmp_path: Path) -> None:
    assert not reads(project / "src", "git log")
    put(tmp_path / "plain/a")
    assert not reads(tmp_path / "plain", "git diff a a")
    assert not reads(project, "git status", folder="src")


def test_what_the_users_settings_of_git_have_run(project: Path) -> None:
    def status(*settings: Setting) -> bool:
        search = f"{project}/bin:/bin"
        place = Place(project, ".", ProjectRoot(project).relative, (), search, lambda: settings)
        return only_reads("git status", place)

    put(project / "bin/git-lfs", "#!/bin/sh\n").chmod(0o755)
    assert status(Setting("filter", "x", "clean", "sed -e p"), Setting("core", "", "pager", "less"))
    assert not status(Setting("filter", "lfs", "process", "git-lfs filter-process"))
    assert not status(Setting("filter", "x", "clean", "./clean"))
    assert not status(Setting("log", "", "showsignature", "true"))
    assert status(Setting("diff", "", "submodule", "short"))
    assert not status(Setting("diff", "", "submodule", "diff"))
    assert not status(Setting("pretty", "", "x", "%+G?"))
