"""The sum is right, its parameter has the new name everywhere, and nothing else changed."""

import subprocess
import sys
import tempfile
from pathlib import Path

project = Path(sys.argv[1])
code = """
from orders import calc_order_total as total, calc_order_weight
from shop import checkout
assert total([(1, 1000)], discount=100) == 900 + 171
assert total([(1, 1000)], discount=900) == 500 + 95
assert total([(1, 1000)], 100, 0) == 900 and total([], discount=50) == 0
assert total([(1, 1000)], discount=0, tax=7) == 1070
assert calc_order_weight([(2, 5)], disc=1) == 9
assert checkout([(1, 1000)], voucher=100) == {"total": 1071}
"""
subprocess.run([sys.executable, "-c", code], cwd=project, check=True)
subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=project, check=True)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, Path(__file__).parent / "make.py", folder], check=True)
    before = Path(folder, "orders.py").read_text().split("\ndef ")
after = (project / "orders.py").read_text().split("\ndef ")
others = [[part.rstrip() for part in parts if not part.startswith("calc_order_total")] for parts in (before, after)]
assert others[0] == others[1], "another function was changed"
total = next(part for part in after if part.startswith("calc_order_total"))
assert "disc=" not in total
assert "disc:" not in total
