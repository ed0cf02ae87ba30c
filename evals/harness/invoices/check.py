"""The tests are as they were and pass; other numbers are right too."""

import filecmp
import subprocess
import sys
from pathlib import Path

project, before = Path(sys.argv[1]), Path(__file__).parent / "files"
for name in ("tests/test_money.py", "tests/test_periods.py"):
    assert filecmp.cmp(project / name, before / name, shallow=False), name
subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=project, check=True)
code = """
from datetime import date
from invoices.money import formatted, share
from invoices.periods import last_day, quarter
assert share(10, [1, 1, 1, 1]) == [3, 3, 2, 2] and share(0, [1, 2]) == [0, 0] and share(7, [1]) == [7]
assert formatted(0) == "0.00" and formatted(-100) == "-1.00" and formatted(99) == "0.99"
assert quarter(date(2025, 12, 31)) == "2025-Q4" and last_day(2023, 2) == date(2023, 2, 28)
"""
subprocess.run([sys.executable, "-c", code], cwd=project, check=True)
