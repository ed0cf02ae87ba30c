"""Which commands reach for the network, and which may be one that is denied."""

from localllm.safety.dangerous_commands import dangerous_as, is_program, may_run, uses_network
from localllm.safety.shell_words import Word
from tests.support.each import each


def words(line: str) -> list[Word]:
    """The words of a line; one with a `$` or a `*` is computed."""
    return [Word(text, computed=bool(set("$*") & set(text))) for text in line.split()]


@each(
    ("line", "uses"),
    [
        ("curl x", True),
        ("/usr/bin/CURL x", True),
        ("timeout 5 wget x", True),
        ("env A=1 pip install x", True),
        ("git push", True),
        ("git -C x fetch", True),
        ("git status", False),
        ("push git", False),
        ("grep curl x", False),
        ("find . -exec curl {} ;", True),
        ("cat https://x", True),
        ("python -c requests", True),
        ("echo >/dev/tcp/x/1", True),
        ("python x.py", False),
        ("", False),
    ],
)
def test_what_reaches_for_the_network(line: str, uses: bool) -> None:
    assert uses_network(words(line)) is uses


@each(
    ("word", "program", "is_it"),
    [
        ("rm", "rm", True),
        ("/bin/RM", "rm", True),
        ("rm.exe", "rm", True),
        ("rmdir", "rm", False),
        ("mkfs.ext4", "mkfs", True),
        ("rm.ext4", "rm", False),
        ("r*", "rm", True),
        ("s*", "rm", False),
        ("*", "rm", False),
        ("*" + "a" * 1_000, "rm", True),
        ("*" + "a" * 999, "rm", False),
        ("$x", "rm", False),
    ],
)
def test_which_words_name_a_program(word: str, program: str, is_it: bool) -> None:
    assert is_program(words(word)[0], program) is is_it


@each(
    ("line", "denied", "may"),
    [
        ("git push", "git push", True),
        ("git -C x push --force", "git push", True),
        ("git --no-pager push", "git push", True),
        ("git x push", "git push", False),
        ("git-push origin", "git push", True),
        ("git-push origin", "git push -f", False),
        ("git-push -f origin", "git push -f", True),
        ("sudo git push", "git push", True),
        ("echo git push", "git push", True),
        ("echo git", "git", False),
        ("nice git", "git", True),
        ("git $x", "git push", True),
        ("$x push", "git push", True),
        ("git", "git push", False),
        ("git push", "git push -f", False),
        ("git push -uf", "git push -f", True),
        ("git push --force", "git push -f", True),
        ("git push --fo", "git push --force", True),
        ("git push -f", "git push --force", True),
        ("git push --force=x", "git push --force", True),
        ("git push $x", "git push --force", True),
        ("anything", "", True),
    ],
)
def test_which_commands_may_be_a_denied_one(line: str, denied: str, may: bool) -> None:
    assert may_run(words(line), denied.split()) is may


def test_of_a_program_that_is_named_very_often_not_all_is_looked_at() -> None:
    assert may_run(words("git x " * 101), ["git", "push"])
    assert not may_run(words("git x " * 99), ["git", "push"])


@each(
    ("line", "entry", "is_it"),
    [
        ("rm -r -f x", "rm -rf", True),
        ("rm -Rf x", "rm -rf", True),
        ("rm --recursive --force x", "rm -rf", True),
        ("rm -f x", "rm -rf", False),
        ("rm x", "rm -rf", False),
        ("xargs rm", "rm -rf", True),
        ("xargs ls rmx", "rm -rf", False),
        ("find . -exec unlink {} ;", "rm -rf", True),
        ("ls . -exec unlink {} ;", "rm -rf", False),
        ("find . -delete", "rm -rf", True),
        ("rm *", "rm -rf", True),
        ("timeout 5 /bin/rm -f -- ./*", "rm -rf", True),
        ("rm -v *.*", "rm -rf", True),
        ("rm a.o ../*", "rm -rf", True),
        ("rm *.pyc", "rm -rf", False),
        ("rm build/*", "rm -rf", False),
        ("git rm *", "rm -rf", False),
        ("ls *", "rm -rf", False),
        ("rm *", "sudo", False),
        ("git clean -fdx", "rm -rf", True),
        ("git -C x -c a.b=c clean -d --force y", "rm -rf", True),
        ("timeout 5 git clean -xfe n", "rm -rf", True),
        ("git clean -fdn", "rm -rf", False),
        ("git clean --dry-run -f", "rm -rf", False),
        ("git clean -d", "rm -rf", False),
        ("git clean -fdx -e -n", "rm -rf", True),
        ("git clean -fdxe --dry-run", "rm -rf", True),
        ("git clean -fdx --excl -- -x", "rm -rf", True),
        ("git clean -f --exclude -n --exclude=a", "rm -rf", True),
        ("git clean -fdx -- -n .", "rm -rf", True),
        ("git clean -f -n --no-dry-run", "rm -rf", True),
        ("git --git-dir .git --work-tree . clean -fdx", "rm -rf", True),
        ("git --attr-source HEAD --namespace x --no-pager clean -f", "rm -rf", True),
        ("git -c clean.requireForce=false clean -dx", "rm -rf", True),
        ("git --config-env clean.requireforce=A clean -d", "rm -rf", True),
        ("git clean -fdx . -n", "rm -rf", False),
        ("git clean -f --no-dry-run --dry", "rm -rf", False),
        ("git clean -f -e a -n", "rm -rf", False),
        ("git clean -dx -- -f", "rm -rf", False),
        ("git --git-dir clean status -f", "rm -rf", False),
        ("git --work-tree=. log clean -f", "rm -rf", False),
        ("git add -f clean", "rm -rf", False),
        ("git", "rm -rf", False),
        ("echo git clean -f", "rm -rf", False),
        ("grep rm -rf x", "rm -rf", False),
        ("grep sudo x", "sudo", False),
        ("env doas x", "sudo", True),
        ("DEL /S x", "del /s", True),
        ("del x/s", "del /s", False),
        ("format d:", "format x:", True),
        ("format d", "format x:", False),
        ("chmod a+rwx x", "chmod 777", True),
        ("chmod 755 x", "chmod 777", False),
        ("", "sudo", False),
    ],
)
def test_which_commands_are_dangerous(line: str, entry: str, is_it: bool) -> None:
    assert bool(dangerous_as(words(line), entry)) is is_it


@each(
    ("line", "meant"),
    [
        ("rm -r -f x", "rm -rf"),
        ("find . -name '*.pyc' -delete", "find -delete"),
        ("find . -exec rm {} ;", "find -exec rm"),
        ("xargs rm", "xargs rm"),
        ("rm *", "rm *"),
        ("git clean -fdx", "git clean -f"),
        ("ls", ""),
    ],
)
def test_it_is_named_as_what_was_written(line: str, meant: str) -> None:
    assert dangerous_as(words(line), "rm -rf") == meant
