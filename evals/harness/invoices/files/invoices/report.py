"""A bill as text."""

from invoices.money import formatted, share


def bill(title: str, total: int, people: dict[str, int]) -> str:
    lines = [title]
    for name, part in zip(people, share(total, list(people.values())), strict=True):
        lines.append(f"{name}: {formatted(part)}")
    return "\n".join(lines)
