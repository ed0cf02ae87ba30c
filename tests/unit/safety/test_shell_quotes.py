"""Quotes, substitutions and here-documents that a line hides from the grammar: what rules make of them."""

import time

from localllm.config.schema import SafetySettings
from localllm.safety.command_line import Line
from localllm.safety.policy import Policy
from localllm.tools.builtin import TOOLS
from tests.support.each import each

RUN = next(tool for tool in TOOLS if tool.name == "run_command")

RUNS_TOUCH = [
    "cat <<E\n $(touch x)\nE",
    "cat <<E\n\t$(touch x)\nE",
    "cat <<-E\n\t`touch x`\n\tE",
    "cat <<E\n`echo \\`touch x\\``\nE",
    "cat <<E\\\nF\nEF\n$E\ntouch x\n",
    "cat <<$E\n$(touch x)",
    "cat <<$'E'\nE\ntouch x\n",
    "cat <<$'E'\nE\ntouch x\ne${",
    "echo `echo \\`touch x\\``",
    'echo "`echo \\"\\$(touch x)\\"`"',
    "echo ok\\\r\ntouch x",
    "echo \"${x-'$(touch x)'}\"",
    "echo $'\\\\'$(touch x) #'",
    "echo $'\\\\'; touch x #'",
    "echo ${x-`touch x`}",
    "echo `echo ${x-<(touch x)}`",
    'echo "`echo ${x-<(touch x)$@,,}`"',
    "echo `echo =~\ntouch x`",
    "echo ${x/{1..2}\ntouch x\n/b}",
    "echo ${x#{}$(touch x)}",
    'echo "$ $(touch x)"',
    'printf -v \'a[$("`"$(touch x)"`")]\' x',
    "[[ 'a[$(\"`touch x`\")]' -eq 0 ]]",
    "echo =~\ntouch x",
    "echo a ==\n\ntouch x\n",
    "git log =~\ntouch x; echo a",
    "for v in 'a[$(touch x)]'; do echo $((v)); done",
    "v='a[$(touch x)]'; echo $((v))",
    "v='$(touch x)'; echo ${v@P}",
    "(('$(touch x)'))",
    'echo "touch x"; bash -c \'bash -c "touch x"\'',
]

AS_WRITTEN = [
    'git commit -m "$(cat <<\'EOF\'\nIt\'s `done`: "$(x)"\nEOF\n)"',
    "cat > a.py <<'EOF'\nprint(\"it's $(x)\")\nEOF\necho 'a b'",
    "cat <<EOF | cat\nprint(${HOME})\nEOF",
    'echo "$(git rev-parse HEAD) done" && git log # it\'s',
    'for f in *.py; do echo "$f" || echo "bad ${f}"; done',
    "cat $'a\\tb' <(git log) 日本 \"日本\"",
    "case $1 in a) echo a;; esac; echo $((1 + 2)) ${x:-b}",
    'echo "it\'s `git log`"',
    'echo `git log; cat "a b" | cat`',
    "if git log; then\n cat a 2>&1 | cat &>c\nelif git log\nthen\n echo a\nfi",
    "while git log\ndo (\n cat a\n) & done <a |\n cat",
    "f() {\n git log\n}\ncat <<E || echo b\nx;y\nE\n(git log\n)",
    "git log # a\n\n\necho a &&\n# c\n git log;",
]


def judge(line: str, **settings: tuple[str, ...]) -> str:
    policy = Policy(SafetySettings(mode="auto" if "deny" in settings else "ask", **settings))  # type: ignore[arg-type]
    return policy.judge(RUN, {"command": line}, lambda path: path).decision


@each("line", RUNS_TOUCH)
def test_what_a_line_hides_is_covered_by_no_allow_rule_and_by_the_deny_rule(line: str) -> None:
    programs = ("cat", "echo", "printf", "[[", "git")
    assert judge(line, allow=tuple(f"run_command({program})" for program in programs)) == "ask"
    assert judge(line, deny=("run_command(touch)",)) == "deny"


@each("line", AS_WRITTEN)
def test_a_line_that_is_what_it_looks_like_is_covered(line: str) -> None:
    rules = ("run_command(cat)", "run_command(echo)", "run_command(git)", "write_file")
    assert judge(line, allow=rules) == "allow"
    assert judge(line, deny=("run_command(touch)",)) == "allow"


@each("part", ["`\\`", '"`"', "$(", "<<E\n$(`", "<<E\n$(a)\nE\n", "(case ", "<<a ", "x='$(' ", "$'", "$(("])
def test_no_line_takes_long(part: str) -> None:
    line = Line((part * 30_000)[:30_000])
    started = time.monotonic()
    assert line.unreadable or part == "$'"
    assert time.monotonic() - started < 10
