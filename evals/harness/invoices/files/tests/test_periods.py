import unittest
from datetime import date

from invoices.periods import last_day, quarter


class Periods(unittest.TestCase):
    def test_quarters(self):
        self.assertEqual([quarter(date(2026, m, 1))[-1] for m in range(1, 13)], list("111222333444"))

    def test_last_day(self):
        self.assertEqual(last_day(2024, 2), date(2024, 2, 29))

    def test_last_day_of_december(self):
        self.assertEqual(last_day(2025, 12), date(2025, 12, 31))
