"""Commands within commands: which options of a program leave only what it runs to be judged, and who reads a text."""

from localllm.config.schema import SafetySettings
from localllm.safety.command_options import read_options
from localllm.safety.policy import Policy, Verdict
from localllm.safety.shell_words import Word
from localllm.tools.builtin import TOOLS
from tests.support.each import each

RUN = next(tool for tool in TOOLS if tool.name == "run_command")


def judge(line: str, settings: SafetySettings) -> Verdict:
    return Policy(settings).judge(RUN, {"command": line}, lambda path: path)


def allowed(line: str) -> bool:
    words = ("ls", "echo", "grep", "git status", "printf", "[")
    return judge(line, SafetySettings(allow=tuple(f"run_command({one})" for one in words))).decision == "allow"


@each(
    "line",
    [
        "time ls",
        "time -p ls",
        "/usr/bin/time -v ls",
        "timeout 5 ls",
        "timeout -fk 5 --signal=KILL 10 ls",
        "timeout --signal KILL 10 ls",
        "nice -n 5 ls",
        "nice -19 ls",
        "ionice -c3 ls",
        "stdbuf -oL ls",
        "setsid -w ls",
        "nohup ls",
        "command -p ls",
        "exec ls",
        "env ls",
        "env -i -u A ls",
        "xargs -r0n1 ls",
        "xargs -0I{} ls {}",
        "echo a | xargs -n 1 ls",
        "bash -c ls",
        "bash -lc 'ls | grep x'",
        "bash -euo pipefail -c 'ls'",
        "bash -ceo pipefail ls",
        "bash --noprofile --norc -c ls",
        "sh -c 'ls -l 2>&1 | grep \"a b\" > /dev/null'",
        "sh -ec 'for f in a b; do ls \"$f\"; done; if ls; then echo $X; fi'",
        "sh -c '[ -d src ] && ls src'",
        "sh -c 'if ! [ \"$x\" != a ] && [ -f x -a -n y ]; then ls x; fi'",
        "sh -c 'echo ${CI:-no} \"${x:+a b}\" ${x:-$y/z} ${x-} ${#x}'",
        "sh -c 'echo ${x%.py} ${x%%.*} ${x#a} \"${x##*/}\"'",
        "sh -c 'ls `git status` \"`ls`\"'",
        'sh -c \'case "$1" in a|b*) ls;; *) echo "$1";; esac\'',
        "sh -c \"grep 'x$' a; echo '{}' \\\"$\\\"\"",
        "eval \"ls 'a'\"",
        "bash -c \"ls $'a'\"",
        "for f in a b; do ls $f; done",
        'for FILE in *.py; do ls "$FILE"; done',
        "for PY in 3.10 3.11; do ls $PY; done",
        "for PYTHON_VERSION in 3.10 3.11; do ls $PYTHON_VERSION; done",
        "for PKG in a b; do ls; done",
        "echo $((1 + 2)) ${x:-y} ${#x} ${x%.*}",
        'ls 2>&1 | grep x; echo "exit: ${PIPESTATUS[0]}"',
        'echo "${x:0:5}" ${x:1} "${x: -3}" ${x: -3:2}',
        'echo ${x[@]} "${x[*]}" ${#x[@]} ${!x[@]} ${x[-1]} ${x[@]:1:2}',
        "ls ${x}>/dev/null",
        'ls "${x[0]}" ${x[0]}>/dev/null',
        "{ ls; }>/dev/null",
    ],
)
def test_an_everyday_line_is_covered_by_the_rule_for_what_it_runs(line: str) -> None:
    assert allowed(line)


@each(
    "line",
    [
        "/usr/bin/time -o a.txt ls",
        "/usr/bin/time -f x --output=a.txt ls",
        "/usr/bin/time --outp a.txt ls",
        "/usr/bin/time -po ls touch x",
        "timeout --sig KILL --nonsense 5 ls",
        "timeout $(printf '5 touch x') ls",
        "exec -a rm ls",
        "env --argv0=rm ls",
        "env -arm ls",
        "xargs --process-slot-var=PATH ls",
        "xargs -0I{} sh -c 'ls {}'",
        "bash --rcfile x -ic ls",
        "bash --init-file x -c ls",
        "bash -ic ls",
        "bash -kc 'ls PATH=x'",
        "bash -O extglob -c ls",
        "bash -- -c ls",
        "bash - -c ls",
        "zsh -c ls",
        "fish -c ls",
        "tcsh -c ls",
        "watch -x ls",
        "for PATH in tools; do git status; done",
        "for BASH_ENV in tools; do git status; done",
        "for GIT_DIR in tools; do git status; done",
        "for PYTHONPATH in tools; do git status; done",
        "for LD_PRELOAD in tools; do git status; done",
        "for PAGER in tools; do git status; done",
        "git status $((PATH=5)); git status",
        "git status ${x[PATH=5]}; git status",
        "git status ${x:PATH=5:1}; git status",
        "for x in PATH=5; do ls $((x)); git status; done",
        "git status ${x[0]:PATH=5:1}; git status",
        "git status ${x[0]:=5}; git status",
        "git status ${x:0:PATH=5}; git status",
        "git status ${#x[PATH=5]}; git status",
        "git status ${x:=5}; git status",
        "ls {PATH}>/dev/null; git status",
        "ls {PATH\\\n}>/dev/null; git status",
        "ls {x[PATH=5]}>/dev/null; git status",
        "ls {x[${y}]}>/dev/null; git status",
        "printf -v PATH tools; git status",
        "ls ${PAGER:=./x}",
    ],
)
def test_what_else_such_a_line_does_needs_a_rule(line: str) -> None:
    assert not allowed(line)


OTHERWISE = [
    """sh -c "echo \\$'a\\\\' ; touch x #'" """,
    "sh <<'E'\necho $'a\\' ; touch x #'\nE",
    "echo \"echo \\$'a\\\\' ; touch x #'\" | sh",
    "sh -c 'echo a &> b touch x'",
    "sh -c '[[ a || touch x ]]'",
    "sh -c '((touch x))'",
    "sh -c 'echo $[a|touch x|b]'",
    'dash -c "eval \\"echo \\\\\\$\'a\\\\\\\\\\\\\\\\\' ; touch x #\'\\""',
    "find . -exec sh -c \"echo \\$'\\\\' ; touch x #'\" \\;",
    'tcsh -c \'echo "\\" ; touch x ; echo "\\"\'',
    "bash -ceo posix 'touch x'",
]


@each("line", OTHERWISE)
def test_what_another_shell_makes_of_a_text_is_denied(line: str) -> None:
    assert judge(line, SafetySettings(mode="auto", deny=("run_command(touch)",))).decision == "deny"


@each("line", OTHERWISE)
def test_what_another_shell_makes_of_a_text_is_dangerous(line: str) -> None:
    assert judge(line.replace("touch x", "rm -rf x"), SafetySettings(mode="auto")).dangerous


NOT_POSIX = [
    "sh -c '[ a > b ]'",
    "sh -c '[ a || ls ]'",
    "sh -c 'echo ${x/a/b}'",
    "sh -c 'echo ${x:0:5}'",
    "sh -c 'echo ${!x}'",
    "sh -c 'echo ${x^}'",
    "sh -c 'echo \"${x:-\\}}\"'",
    "sh -c 'case x in @(a)) ls;; esac'",
    "sh -c 'ls `ls \\$x`'",
]


@each("line", [*OTHERWISE[:9], "sh -c './{a,b}'", "sh -c 'ls {x}>y'", "sh -c '$\"ls\"'", *NOT_POSIX])
def test_no_rule_covers_what_shells_read_differently(line: str) -> None:
    rules = tuple(f"run_command({one})" for one in ("echo", "find", "eval", "[[", "[", "./a", "ls"))
    assert judge(line, SafetySettings(allow=rules)).decision == "ask"


@each(
    ("words", "given", "rest", "are_harmless"),
    [
        ("-k 5 10 ls", (("k", "5"),), "10 ls", True),
        ("-fk5 --sig KILL ls", (("f", ""), ("k", "5"), ("signal", "KILL")), "ls", True),
        ("-f -- -x", (("f", ""),), "-x", True),
        ("-fo x ls", (("f", ""), ("o", "x")), "ls", False),
        ("-z ls", (("z", ""),), "ls", False),
        ("-i{} -i ls", (("i", "{}"), ("i", "")), "ls", True),
        ("-k", (("k", ""),), "", True),
        ("- ls", (), "- ls", True),
    ],
)
def test_options_are_read_as_getopt_does(
    words: str, given: tuple[tuple[str, str], ...], rest: str, are_harmless: bool
) -> None:
    options = read_options([Word(word) for word in words.split()], "k: f i? signal: foreground", "o:")
    assert options.given == given
    assert " ".join(word.text for word in options.rest) == rest
    assert options.are_harmless is are_harmless
