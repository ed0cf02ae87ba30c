"""The route takes the limit, the tests pass and test it, and the README lost nothing."""

import json
import re
import subprocess
import sys
from pathlib import Path

project, before = Path(sys.argv[1]), Path(__file__).parent / "files"
code = """
const { answer } = require('./src/routes');
const count = (query) => answer('/items' + query).body.length;
const ok = [count(''), count('?limit=1'), count('?limit=100'), answer('/items/7').body.id];
const bad = ['0', '101', '-1', '1.5', 'x', ''].map((limit) => answer('/items?limit=' + limit));
console.log(JSON.stringify({ ok, bad }));
"""
said = json.loads(subprocess.run(["node", "-e", code], cwd=project, check=True, capture_output=True).stdout)
assert said["ok"] == [20, 1, 100, 7], said
error = {"status": 400, "body": {"error": "limit must be a whole number from 1 to 100"}}
assert all(one == error for one in said["bad"]), said["bad"]
assert "limit" in (project / "src/validate.js").read_text()
tests = "".join(path.read_text() for path in (project / "test").glob("*.js"))
assert "limit" in tests, "no test of it"
assert not re.search(r"^\s*\d+[:|]\s", (project / "src/validate.js").read_text(), re.M), "line numbers in the file"
readme = (project / "README.md").read_text()
lost = [
    line for line in (before / "README.md").read_text().splitlines() if line not in readme and "GET /items`" not in line
]
assert not lost, lost
assert "limit" in readme
assert json.loads((project / "package.json").read_text()) == json.loads((before / "package.json").read_text())
subprocess.run(["node", "--test", "test/"], cwd=project, check=True, stdout=subprocess.DEVNULL)
