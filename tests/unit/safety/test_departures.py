"""Which commands of a line take files out of the project, to where a command's files are thrown away."""

from localllm.safety.departures import departures
from localllm.safety.rules import line_of
from tests.support.each import each

ROOT = "/srv/p"


@each(
    ("line", "targets"),
    [
        ("mv data /tmp/", ["/tmp/"]),
        ("mv data ~/old && ls", ["~/old"]),
        ("mv data $HOME/x", ["$HOME/x"]),
        ('mv data "${TMPDIR:-/tmp}/x"', ["${TMPDIR:-/tmp}/x"]),
        ("mv data $(mktemp -d)", ["$"]),
        ("mv -t /tmp a b", ["/tmp"]),
        ("mv -vt/tmp a", ["/tmp"]),
        ("mv --target-directory=/var/tmp a", ["/var/tmp"]),
        ("D=/tmp/x; mv data $D", ["/tmp/x"]),
        ("mv sub/../data ../../tmp/x", ["../../tmp/x"]),
        ("mv /srv/p/data /tmp", ["/tmp"]),
        ("find . -name 'x*' -exec mv {} /tmp ';'", ["/tmp"]),
        ("ls | xargs mv -t /tmp", ["/tmp"]),
        ("cd /tmp && mv /srv/p/data .", ["."]),
        ("cd data && mv x ../../y", ["../../y"]),
        ("rm -r data", [""]),
        ("rm --recursive data", [""]),
        ("mv data old", []),
        ("mv data /srv/p/old", []),
        ("cd data && mv x ../y", []),
        ("mv /tmp/a /tmp/b", []),
        ("mv /tmp/a .", []),
        ("mv ~/a ~/b", []),
        ("cd /tmp && mv a b", []),
        ('for f in *.txt; do mv "$f" "${f%.txt}.md"; done', []),
        ("git mv a /tmp", []),
        ("cp -r data /tmp", []),
        ("mv data", []),
        ("rm data", []),
        ("git rm -r data", []),
    ],
)
def test_what_leaves_the_project(line: str, targets: list[str]) -> None:
    assert sorted({one.target for one in departures(line_of(line), ".", ROOT)}) == targets
