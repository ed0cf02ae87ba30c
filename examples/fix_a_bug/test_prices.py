import unittest

from prices import total


class TestTotal(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total([1.0, 2.5]), 3.5)

    def test_with_discount(self):
        self.assertEqual(total([10.0, 10.0], discount=0.25), 15.0)


if __name__ == "__main__":
    unittest.main()
