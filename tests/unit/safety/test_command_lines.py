"""What the policy makes of command lines, from the table beside this file."""

import random
import tomllib
from pathlib import Path

import pytest

from localllm.config.schema import SafetySettings
from localllm.safety.command_line import Line
from localllm.safety.policy import Policy, Verdict
from localllm.tools.builtin import TOOLS
from tests.support.each import each

TABLE: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("command_lines.toml").read_text("utf-8"))
CASES = [(expected, line) for expected, lines in TABLE.items() for line in lines]
RUN = next(tool for tool in TOOLS if tool.name == "run_command")


def judge(line: str, settings: SafetySettings) -> Verdict:
    return Policy(settings).judge(RUN, {"command": line}, lambda path: path)


def verdict(line: str) -> str:
    given = judge(line, SafetySettings(mode="auto"))
    if given.dangerous:
        return "dangerous"
    return given.why or ("plain" if given.decision == "allow" else given.decision)


def test_there_are_enough_of_each() -> None:
    assert len(CASES) >= 230
    assert len({line for _, line in CASES}) == len(CASES)
    assert all(len(lines) >= 20 for lines in TABLE.values())


@each(("expected", "line"), CASES)
def test_the_table(expected: str, line: str) -> None:
    assert verdict(line) == expected


@each("line", TABLE["dangerous"] + TABLE["unreadable"])
def test_no_allow_rule_lets_a_dangerous_or_hidden_command_through(line: str) -> None:
    rules = [f"run_command({word})" for word in ("ls", "true", "bash", "cat", "echo", "find", "python")]
    assert judge(line, SafetySettings(allow=tuple(rules))).decision == "ask"


ODD = [
    "\u00a0",
    "\u3000",
    "\u2003",
    "\x85",
    "\u2028",
    "\x1c",
    "\x0b",
    "\0",
    "\ud800",
    "a\u3000b; \u3000",
    "\u00a0 | \u3000 && \x1f",
]


@each(
    "line", [*ODD, *(f"ls {odd}" for odd in ODD), *(f"{odd}; git push" for odd in ODD), *(f"x | {odd}" for odd in ODD)]
)
def test_blanks_that_the_shell_takes_for_letters(line: str) -> None:
    denied = SafetySettings(
        mode="auto", allow=("*",), deny=("run_command(git push)",), dangerous_commands=("\u3000", "")
    )
    assert ("git push" in line) == (judge(line, denied).decision == "deny")


def quoted(text: str, chance: random.Random) -> str:
    """The same words in other clothes."""
    dressed = ""
    for letter in text:
        if letter.isalpha():
            shapes = (letter, f"'{letter}'", f'"{letter}"', f"\\{letter}", f"$'{letter}'", f"{letter}''", f"{letter}$@")
            dressed += chance.choice(shapes)
        else:
            dressed += letter
    return dressed


FRAMES = (
    "{}",
    "cd x && {}",
    "({})",
    "true; {} &",
    "if {}; then :; fi",
    "echo $({})",
    "time {} | cat",
    "f() {{ {}; }}; f",
)


@each("seed", range(60))
def test_quotes_hide_neither_what_is_denied_nor_what_is_dangerous(seed: int) -> None:
    chance = random.Random(seed)
    frame = chance.choice(FRAMES)
    denied = SafetySettings(mode="auto", allow=("*",), deny=("run_command(git push)",))
    assert judge(frame.format(quoted("git push origin", chance)), denied).decision == "deny"
    assert judge(frame.format(quoted("rm -rf x", chance)), SafetySettings(mode="auto", allow=("*",))).dangerous


@pytest.mark.parametrize("seed", range(40))
def test_any_text_is_read(seed: int) -> None:
    chance = random.Random(seed)
    alphabet = [
        *"ab \t\n'\"`$(){}[]<>|&;#\\!*?~=0-/\0\x80é終\ud800",
        "$((",
        "<<EOF\n",
        "<(",
        "${a:-",
        "$'",
        "&&",
        "EOF\n",
        "-c ",
    ]
    for _ in range(15):
        line = "".join(chance.choices(alphabet, k=chance.randrange(60)))
        read = Line(line)
        assert read.unreadable or all(word for words in read.commands for word in words[:1])


@pytest.mark.parametrize("seed", range(40))
def test_no_text_before_it_hides_a_denied_command(seed: int) -> None:
    chance = random.Random(seed)
    denied = SafetySettings(mode="auto", allow=("*",), deny=("run_command(git push)",))
    for _ in range(15):
        line = "".join(chance.choices("ab \t\n'\"`$(){}[]<>|&;#\\!*?~=0-/\0\x80é終", k=chance.randrange(30)))
        assert judge(f"{line}\n\ngit push", denied).decision != "allow", line


@each("line", TABLE["dangerous"])
def test_cutting_a_dangerous_line_short_never_raises(line: str) -> None:
    for end in range(0, len(line), 7):
        verdict(line[:end])


WRAPPERS = [
    *("prlimit --nproc=10 {}", "setarch x86_64 -R {}", "linux32 {}", "linux64 {}", "i386 {}", "choom -n 100 -- {}"),
    *("taskset -c 0,1 {}", "ionice -c 3 {}", "chrt -f 10 {}", "nsenter --target 1 --mount {}", "unshare -S 0 {}"),
    *("/lib64/ld-linux-x86-64.so.2 {}", "/lib64/ld-linux-x86-64.so.2 --argv0 x /usr/bin/{}", "ld.so {}"),
    *("env -S '{}'", "env --chdir / {}", "busybox {}", "xargs -a f {}", "parallel {} ::: x", "script -c '{}'"),
    *("script -q /dev/null {}", "flock --timeout 3 f {}", "watch -n 1 {}", "strace -ff -o x {}", "ltrace -S {}"),
    *("gdb --args {}", "gdb -ex 'shell {}'", "timeout --signal KILL 5 {}", "nice --adjustment 5 {}", "setsid -w {}"),
    *("stdbuf --output L {}", "nohup {}", "command {}", "builtin command {}", "exec -a x {}", "eval '{}'", "uv run {}"),
    *("mapfile -c1 -C'{} #' < f", "perl -e'system(\"{}\")'", "python3 -c\"import os; os.system('{}')\"", "valgrind {}"),
    *("nawk 'BEGIN{{system(\"{}\")}}'", "sed 's/x/{}/e' f", "sed 's|x|{}|ge' f", "sed -n '$!e {}' f", "tini -- {}"),
    *("vim -c '!{}' f", "luajit -e 'os.execute(\"{}\")'", "socat - EXEC:'{}'", "ed <<< '!{}'", "echo '{}' | at now"),
    *("GIT_SSH_COMMAND='{}' git fetch", "GIT_EXTERNAL_DIFF='{}' git diff", "MANPAGER='{}' man x", "psql -c '\\! {}'"),
    *("sqlite3 x '.shell {}'", "expect -c 'spawn {}'", "docker run --rm x {}", "bind -x '\"x\":{}'", "rg --pre '{}' x"),
    *(
        "ssh-agent {}",
        "cmake -E env {}",
        "logsave f {}",
        "qemu-x86_64 /usr/bin/{}",
        "qemu-aarch64 -L / {}",
        "hatch run {}",
    ),
    *("pyenv exec {}", "tox exec -- {}", "docker-compose exec s {}", "dtach -n s {}", "distrobox enter a -- {}"),
]


@each("frame", WRAPPERS)
def test_what_is_denied_is_found_behind_programs_that_run_others(frame: str) -> None:
    denied = SafetySettings(
        mode="auto", allow=("*", f"run_command({frame.split(maxsplit=1)[0]})"), deny=("run_command(curl)",)
    )
    assert judge(frame.format("curl x.org"), denied).decision == "deny"


@each(
    "line",
    [
        "rg --pre curl x",
        "rg --pre=curl x",
        "mapfile -C curl x",
        "PAGER=curl git log",
        "GIT_EXTERNAL_DIFF=curl git diff",
        "complete -C curl x",
    ],
)
def test_a_single_word_is_a_command_as_well(line: str) -> None:
    assert judge(line, SafetySettings(mode="auto", deny=("run_command(curl)",))).decision == "deny"


@each(
    "line",
    [
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.st GIT_CONFIG_VALUE_0=push git st",
        "env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.st GIT_CONFIG_VALUE_0=push git st",
        "GIT_CONFIG_PARAMETERS=\"'alias.st=push'\" git st",
        "export GIT_CONFIG_GLOBAL=x; git st",
        "X=push git --config-env=alias.st=X st",
    ],
)
def test_settings_of_git_in_variables_are_asked_about(line: str) -> None:
    rules = SafetySettings(mode="auto", allow=("run_command(git)",), deny=("run_command(git push)",))
    assert judge(line, rules).decision == "ask"


@each(
    "line",
    [
        "uv run pytest -q",
        "docker run --rm -it image bash",
        "conda install python",
        "npm run build",
        "sed -i 's/the/a/' README.md",
        "sed -n '/name/p' f.e",
        "GIT_CONFIG_GLOBAL=/dev/null git status",
        "EDITOR=true git commit --amend",
        "rg --pre-glob '*.pdf' x",
        "git log -e",
        "uname -a",
        "xvfb-run -a npm test",
    ],
)
def test_programs_that_run_others_go_on_working(line: str) -> None:
    assert judge(line, SafetySettings(mode="auto", deny=("run_command(curl)",))).decision == "allow"


@each("line", ["uv run pytest -q", "docker run --rm image", "npm run build"])
def test_an_allowed_runner_needs_no_rule_for_what_it_may_run(line: str) -> None:
    rule = f"run_command({' '.join(line.split()[:2])})"
    assert judge(line, SafetySettings(allow=(rule,), deny=("run_command(curl)",))).decision == "allow"


@each("line", ["prlimit --nproc=9 make", "strace -f make", "choom -n 9 make", "rg --pre ./x y"])
def test_an_allowed_wrapper_does_not_allow_what_it_runs(line: str) -> None:
    assert judge(line, SafetySettings(allow=(f"run_command({line.split(maxsplit=1)[0]})",))).decision == "ask"


DISGUISES = [
    "git -c alias.x=push x",
    "git config alias.st push && git st",
    "/usr/lib/git-core/git-push",
    "echo push | xargs -I{} git {}",
    "parallel git ::: push",
    "cat > x.sh <<EOF\ngit push\nEOF\nsh x.sh",
    "printf 'git push' | tee x.sh; bash x.sh",
    "alias g=git; g push",
    "hash -p /usr/bin/git foo; foo push",
    "ln -s /usr/bin/git x; ./x push",
    "PAGER='git push' git log",
    "git -c core.pager='git push' log",
    "git rebase -x 'git push' HEAD~1",
    "git submodule foreach 'git push'",
    "sort --compress-program='git push' f",
    "npx -c 'git push'",
    "make SHELL='git push'",
    "rg --pre 'git push' x",
    "vim -c '!git push' -c q",
    "sed '1e git push' f",
    'python -c \'import os; os.system("git "+"push")\'',
    "perl -e 'exec qw(git push)'",
    "ruby -e '%x(git push)'",
    "perl -e 1 -e 'system(\"git push\")'",
    'node --eval=\'require("child_process").execSync("git push")\'',
    'node --print 1 --print=\'require("child_process").execSync("git push")\'',
    "php --run 'system(\"git push\");'",
    "php -r'system(\"git push\");'",
    "julia --eval='run(`git push`)'",
    'bun --eval \'require("child_process").execSync("git push")\'',
    "cat <<E\n`git push`\nE",
    "test -v 'a[$(git push)]'",
    "x='$(git push)'; echo \"${x@P}\"",
]


@each("line", DISGUISES)
def test_what_is_denied_is_found_where_another_program_is_told_of_it(line: str) -> None:
    assert judge(line, SafetySettings(mode="auto", deny=("run_command(git push)",))).decision == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "git commit -m 'Say how to git push'",
        "grep -rn 'git push' docs",
        "sed -i 's/git push/git pull/' README.md",
        "cat > notes.md <<'EOF'\nThen `git push` it.\nEOF",
        "git log --grep='git push'",
    ],
)
def test_talking_of_what_is_denied_is_not_doing_it(line: str) -> None:
    assert judge(line, SafetySettings(mode="auto", deny=("run_command(git push)",))).decision == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "git -c core.pager='curl x' log",
        "git difftool -x id",
        "git grep -Oid x",
        "git rebase -x id",
        "git bisect run id",
        "git submodule foreach id",
        "git filter-branch --tree-filter id",
        "git config core.pager id",
        "git log <<E\n`id`\nE",
    ],
)
def test_an_allowed_git_runs_nothing_else(line: str) -> None:
    assert judge(line, SafetySettings(allow=("run_command(git)",))).decision == "ask"
