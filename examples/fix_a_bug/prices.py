"""Prices in a shop."""


def total(prices: list[float], discount: float = 0.0) -> float:
    """The sum of `prices`, less a `discount` between 0 and 1."""
    return sum(prices) * discount
