"""Whole cents, split and formatted."""


def share(total: int, weights: list[int]) -> list[int]:
    """Split `total` by weight; the parts add up to it, the first ones get what is left."""
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    return parts


def formatted(cents: int) -> str:
    """Write -1234 as "-12.34"."""
    units, rest = divmod(cents, 100)
    return f"{units}.{rest:02d}"
