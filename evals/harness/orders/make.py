"""Write a project with one file of some 3,000 lines."""

import sys
from pathlib import Path

project = Path(sys.argv[1])
WORDS = [
    "stock",
    "parcel",
    "refund",
    "voucher",
    "supplier",
    "shelf",
    "batch",
    "return",
    "invoice",
    "carrier",
    "pallet",
    "label",
]
DEEDS = ["count", "weigh", "sort", "check", "merge", "split", "round", "limit", "guess", "trim"]
parts = ['"""Orders, and everything that was ever needed around them."""\n\nTAX = 19\n']
number = 0
for deed in DEEDS:
    for word in WORDS:
        number += 1
        parts.append(f'''
def {deed}_{word}(rows, limit={number}, *, strict=False):
    """{deed.title()} each {word} of the rows.

    Rows with a negative amount are left out, or refused if strict.
    """
    total = 0
    kept = []
    for row in rows:
        amount = row.get("{word}", 0)
        if amount < 0:
            if strict:
                raise ValueError(f"negative {word}: {{amount}}")
            continue
        if len(kept) >= limit:
            break
        kept.append(row)
        total += amount * {number % 7 + 1}
    if not kept:
        return 0, []
    if total % {number % 5 + 2} == 0:
        total += 1
    average = total // len(kept)
    return average, kept

''')
        if (deed, word) == ("merge", "carrier"):
            parts.append('''
def calc_order_total(lines, disc=0, tax=TAX):
    """Sum up an order in cents.

    lines: (count, price in cents) pairs; disc: cents off; tax: percent.
    """
    net = 0
    for count, price in lines:
        if count < 0:
            raise ValueError(f"negative count: {count}")
        net += count * price
    gross = net + net * tax // 100
    gross = gross - disc
    return gross


def calc_order_weight(lines, disc=0):
    """Sum up the weight of an order; disc is the packing's."""
    return sum(count * weight for count, weight in lines) - disc

''')
(project / "orders.py").write_text("".join(parts))
(project / "shop.py").write_text('''"""What the shop shows."""

from orders import calc_order_total


def checkout(lines, voucher=0):
    return {"total": calc_order_total(lines, disc=voucher)}
''')
(project / "test_orders.py").write_text("""import unittest

from orders import calc_order_total, calc_order_weight
from shop import checkout


class Orders(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(calc_order_total([(2, 500), (1, 1000)]), 2380)

    def test_weight(self):
        self.assertEqual(calc_order_weight([(2, 5)], disc=1), 9)

    def test_checkout(self):
        self.assertEqual(checkout([(1, 1000)])["total"], 1190)
        self.assertLess(checkout([(1, 1000)], voucher=100)["total"], 1190)
""")
