"""python3 check.py PROJECT: exits 0 if the household accounts tool is really done."""

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

PROJECT = Path(sys.argv[1]).resolve()
FILES = Path(__file__).resolve().parent / "files"
ENV = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
problems = []


def check(good, what):
    if not good:
        problems.append(what)


def run(*args, cwd=PROJECT):
    done = subprocess.run(
        [sys.executable, *map(str, args)], cwd=cwd, env=ENV, capture_output=True, timeout=60, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def rows(out):
    found = []
    for line in out.splitlines():
        match = re.match(r"\W*(\d{4}-\d{2})\W+([^\W\d]\w*)\W*?(-?[\d,]+)\s*円?\s*\W*$", line)
        if match:
            found.append((match[1], match[2], int(match[3].replace(",", ""))))
    return found


def widths(out):
    return {
        sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line.rstrip())
        for line in out.splitlines()
        if rows(line)
    }


MARCH = [
    ("2024-03", "家賃", 65000),
    ("2024-03", "光熱費", 8740),
    ("2024-03", "食費", 6500),
    ("2024-03", "交際費", 4500),
    ("2024-03", "交通費", 420),
    ("2024-03", "合計", 85160),
]
APRIL = [
    ("2024-04", "家賃", 65000),
    ("2024-04", "食費", 4400),
    ("2024-04", "通信費", 3280),
    ("2024-04", "日用品", 1150),
    ("2024-04", "合計", 73830),
]


def behaviour():
    code, out, err = run("kakeibo.py", "sample/2024-04.csv", "sample/2024-03.csv")
    check(code == 0, f"both samples: exit code {code}: {err[-300:]}")
    check(rows(out) == MARCH + APRIL, f"both samples: rows {rows(out)} from {out!r}")
    check(len(widths(out)) == 1, f"amounts do not end in one column: {widths(out)}")
    check("85,160" in out, "no thousands separators")
    code, out, err = run("kakeibo.py", "--month", "2024-04", "sample/2024-03.csv", "sample/2024-04.csv")
    check(code == 0 and rows(out) == APRIL, f"--month: {code} {out!r} {err[-300:]}")
    with tempfile.TemporaryDirectory() as folder:
        bom = Path(folder) / "bom.csv"
        bom.write_bytes(
            '日付,費目,金額,メモ\n2023-12-31,食費,"￥１，２００",\n2023/1/2,ペットの世話,¥900,\n'
            "2023-01-03,本,￥２０００,\n".encode("utf-8-sig")
        )
        code, out, err = run("kakeibo.py", bom)
        wanted = [
            ("2023-01", "本", 2000),
            ("2023-01", "ペットの世話", 900),
            ("2023-01", "合計", 2900),
            ("2023-12", "食費", 1200),
            ("2023-12", "合計", 1200),
        ]
        check(code == 0 and rows(out) == wanted, f"BOM and full width: {code} {out!r} {err[-300:]}")
        check(len(widths(out)) == 1, f"wide names: {widths(out)}")
        bad = Path(folder) / "bad.csv"
        bad.write_text(
            "日付,費目,金額,メモ\n2024/5/1,食費,100,\n2024/5/2,食費,未定,\n5月3日,食費,300,\n2024/5/4,食費,400,\n",
            encoding="utf-8",
        )
        code, out, err = run("kakeibo.py", bad)
        check(code == 1, f"bad lines: exit code {code}, not 1")
        check(("2024-05", "食費", 500) in rows(out), f"bad lines: {out!r}")
        check("3" in err and "4" in err and "Traceback" not in err, f"bad lines: stderr {err!r}")
        code, out, err = run("kakeibo.py", Path(folder) / "nai.csv")
        check(code == 2 and err.strip() and "Traceback" not in err, f"no file: {code} {err[-300:]!r}")


def imports():
    names = set()
    for node in ast.walk(ast.parse((PROJECT / "kakeibo.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    check(names <= set(sys.stdlib_module_names), f"imports {names}")


def own_tests():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns(".git", ".localllm", "__pycache__"))
        code, _, err = run("-m", "unittest", "test_kakeibo", cwd=copy)
        check(code == 0, f"own tests: {err[-600:]}")
        count = re.search(r"Ran (\d+) test", err)
        check(count and int(count[1]) >= 4, f"fewer than 4 tests: {err[-200:]}")
        # Tests that test nothing do not count: without the program they must fail.
        (copy / "kakeibo.py").write_text("def main(argv=None):\n    return 0\n", encoding="utf-8")
        code, _, _ = run("-m", "unittest", "test_kakeibo", cwd=copy)
        check(code != 0, "the tests pass with an empty kakeibo.py")


def readme():
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    check("これから作る" not in text, "README: これから作る is still there")
    check(re.search(r"(?m)^##\s*テスト\s*$", text), "README: no section テスト")
    check("unittest" in text or "test_kakeibo" in text, "README: how to run the tests is missing")
    old = (FILES / "README.md").read_text(encoding="utf-8").splitlines()
    lost = [line for line in old if line.strip() and "これから作る" not in line and line not in text.splitlines()]
    check(not lost, f"README lost lines: {lost}")
    check("コマンドラインツール" in text, "README lost its first sentence")


def samples():
    for path in (FILES / "sample").iterdir():
        mine = PROJECT / "sample" / path.name
        check(
            mine.is_file() and hashlib.sha256(mine.read_bytes()).digest() == hashlib.sha256(path.read_bytes()).digest(),
            f"sample changed: {path.name}",
        )


for name in ("kakeibo.py", "test_kakeibo.py", "README.md"):
    check((PROJECT / name).is_file(), f"{name} is missing")
if not problems:
    for part in (behaviour, imports, own_tests, readme, samples):
        try:
            part()
        except Exception as error:  # a check that breaks is a failed check
            check(False, f"{part.__name__}: {error!r}")
for problem in problems:
    print("-", problem)
print("done" if not problems else f"{len(problems)} problem(s)")
sys.exit(1 if problems else 0)
