"""docs/settings.md is what the schema says."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def check(script: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, script, "--check"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_the_reference_of_settings_is_current_and_a_stale_one_is_noticed(tmp_path: Path) -> None:
    assert check(ROOT / "scripts" / "settings_doc.py").returncode == 0
    for name in ("scripts/settings_doc.py", "docs/settings.md"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs" / "settings.md").open("a", encoding="utf-8") as document:
        document.write("more\n")
    assert check(tmp_path / "scripts" / "settings_doc.py").returncode == 1
