"""Which commands of a line take files out of the project, to where a command's files are thrown away."""

from pathlib import Path

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
        ("mv data $(mktemp -d)", ["/tmp/tmp.XXXXXXXXXX"]),
        ('mv data "$(mktemp -d)"', ["/tmp/tmp.XXXXXXXXXX"]),
        ('mv data "$(mktemp -d)/x"', ["/tmp/tmp.XXXXXXXXXX/x"]),
        ("mv data `mktemp -d -t old.XXXX`/", ["/tmp/old.XXXX/"]),
        ('D=$(mktemp -d); mv data "$D"', ["/tmp/tmp.XXXXXXXXXX"]),
        ('D="$(mktemp -d || exit 1)" && mv data "${D%/}/"', ["/tmp/tmp.XXXXXXXXXX/"]),
        ("export D=$(mktemp -d -p /var/tmp); mv data $D/x", ["/var/tmp/tmp.XXXXXXXXXX/x"]),
        ('cd "$(mktemp -d)" && mv /srv/p/data .', ["."]),
        ("cd /tmp; mv $OLDPWD/data .", ["."]),
        ("mv $ROOT/data /tmp", ["/tmp"]),
        ("mv --target-dir=/tmp data", ["/tmp"]),
        ("mv --t /tmp data", ["/tmp"]),
        ("mv --suf .old data /tmp", ["/tmp"]),
        ("ln -s /tmp t; mv data t/", ["t/"]),
        ("ln -s ~; mv data '~'", ["~"]),
        ('ln -sfn "$(mktemp -d)" sub/t && mv data sub/t/x', ["sub/t/x"]),
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
        ("cd /tmp; cd -; mv data ..", [".."]),
        ("cd; mv /srv/p/data .", ["."]),
        ("cd ~/x && mv /srv/p/data .", ["."]),
        ('(cd /tmp; ls); mv "$f" ..', [".."]),
        ('cd src; ls; cd ..; mv "$f" ../lib', ["../lib"]),
        ("rm -r data", [""]),
        ("rm --recursive data", [""]),
        ("mv data old", []),
        ("mv data /srv/p/old", []),
        ("cd data && mv x ../y", []),
        ("mv /tmp/a /tmp/b", []),
        ("mv /tmp/a .", []),
        ("mv ~/a ~/b", []),
        ("cd /tmp && mv a b", []),
        ("cd src; mv a.py ../lib/; cd ..; ls lib", []),
        ('cd src && for f in *.py; do mv "$f" ../lib/; done; cd ..', []),
        ('cd src; mv "$f" ../lib/; cd ..; mv "$g" lib/', []),
        ("pushd src; mv a ../b; popd", []),
        ("cd src; cd -; mv a b", []),
        ("cd /tmp && mv a /tmp/b", []),
        ("ln -s src t; mv data t/", []),
        ('T=$(mktemp); sed s/a/b/ f > "$T" && mv "$T" f', []),
        ('for f in *.py; do T=$(mktemp); sed s/a/b/ "$f" > "$T"; mv "$T" "$f"; done', []),
        ('T=$(mktemp -d); tar xf a.tgz -C "$T"; mv "$T"/* sub/', []),
        ('D=$(mktemp -d); mv "$f" "$x"', []),
        ("D=$(mktemp -d ./old.XXXX); mv data $D", []),
        ("D=$(mktemp -d -p .); mv data $D", []),
        ("D=$(mktemp -d); cp -r data $D", []),
        ('mv "$ROOT/data" "$ROOT/tmp/data"', []),
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


def test_what_a_line_moves_after_it_came_back_to_the_project(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    line = line_of("(cd /tmp && ls); mv data /tmp")
    assert {one.target for one in departures(line, ".", str(tmp_path))} == {"/tmp"}


def test_a_link_of_the_project_to_what_is_thrown_away_is_no_place_in_it(tmp_path: Path) -> None:
    for name, leads in {"away": "/tmp", "home": Path.home(), "far": "away", "disk": "/mnt/disk", "sub": "src"}.items():
        (tmp_path / name).symlink_to(leads)

    def is_away(target: str) -> bool:
        return bool(departures(line_of(f"mv data {target}"), ".", str(tmp_path)))

    targets = ("away", "away/x", "home", "far/x", "disk/x", "sub/x", "new")
    assert [target for target in targets if is_away(target)] == ["away", "away/x", "home", "far/x"]
