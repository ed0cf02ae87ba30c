import unittest

from invoices.money import formatted, share
from invoices.report import bill


class Money(unittest.TestCase):
    def test_even(self):
        self.assertEqual(share(100, [1, 1]), [50, 50])

    def test_the_rest_goes_to_the_first(self):
        self.assertEqual(share(100, [1, 1, 1]), [34, 33, 33])
        self.assertEqual(sum(share(1001, [3, 5, 7, 11])), 1001)

    def test_formatted(self):
        self.assertEqual(formatted(1234), "12.34")

    def test_formatted_below_zero(self):
        self.assertEqual(formatted(-1234), "-12.34")
        self.assertEqual(formatted(-5), "-0.05")

    def test_bill(self):
        self.assertEqual(bill("Rent", 1000, {"Ada": 1, "Bo": 2}), "Rent\nAda: 3.34\nBo: 6.66")
