"""Bar charts of money amounts by year in the findings of a purpose, if at least two are comparable."""

from collections.abc import Sequence
from typing import NamedTuple

from localllm.base.i18n import N_, translated
from localllm.research.market.market_records import Insight
from localllm.text.quantities import Quantity, quantities
from localllm.text.sanitising import display_width

_CELLS = 30
"""Cells of the longest bar."""

_YEAR = 10_000
"""Dates are year * 10,000 + month * 100 + day."""

_YEARS = (1900, 2200)
_LARGE_JA = ((1e12, "兆"), (1e8, "億"), (1e4, "万"))
_LARGE_EN = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))
_UNITS_JA = {"JPY": "円", "USD": "ドル", "EUR": "ユーロ", "CNY": "元", "KRW": "ウォン", "GBP": "ポンド"}


class Bar(NamedTuple):
    """An amount, its year, and the finding that states it."""

    year: int
    value: float
    shown: str
    insight: str


class Chart(NamedTuple):
    """Amounts in one currency, by year."""

    unit: str
    bars: tuple[Bar, ...]

    def title(self, language: str) -> str:
        """Return the chart's title."""
        return translated(language, N_("Amounts stated, by year ({unit})"), unit=self.unit)

    def share(self, bar: Bar) -> float:
        """Return the relative length of a bar, 0 to 1."""
        return bar.value / max(one.value for one in self.bars)


def charts(insights: Sequence[Insight], language: str) -> list[Chart]:
    """Create a chart per currency; none without amounts for two years."""
    by_unit: dict[str, dict[tuple[int, float], Bar]] = {}
    for insight in insights:
        if not insight.supported:
            continue
        for year, amount in _dated(insight.text):
            bar = Bar(year, amount.value, _amount(amount.value, amount.unit, language), insight.id)
            by_unit.setdefault(amount.unit, {}).setdefault((year, amount.value), bar)
    return [
        Chart(unit, tuple(bars[key] for key in sorted(bars)))
        for unit, bars in by_unit.items()
        if len({year for year, _value in bars}) > 1
    ]


def text_chart(chart: Chart) -> list[str]:
    """Render a chart as lines of text."""
    labels = [f"{bar.year}" for bar in chart.bars]
    shown = [bar.shown for bar in chart.bars]
    widest = max(map(display_width, shown))
    return [
        f"{label}  {text}{' ' * (widest - display_width(text))}  {'█' * max(1, round(chart.share(bar) * _CELLS))}"
        f"  {bar.insight}"
        for label, text, bar in zip(labels, shown, chart.bars, strict=True)
    ]


def _dated(text: str) -> list[tuple[int, Quantity]]:
    """Pair each amount of money with the nearest year, if there is one for each."""
    found = quantities(text)
    amounts = [one for one in found if one.kind == "money" and one.value > 0]
    years = [one for one in found if one.kind == "date" and _YEARS[0] <= one.value // _YEAR <= _YEARS[1]]
    pairs: list[tuple[int, Quantity]] = []
    for amount in amounts:
        if not years:
            break
        nearest = min(years, key=lambda one: _distance(one, amount))
        years.remove(nearest)
        pairs.append((int(nearest.value // _YEAR), amount))
    return pairs


def _distance(year: Quantity, amount: Quantity) -> int:
    return max(year.span.start - amount.span.end, amount.span.start - year.span.end)


def _amount(value: float, unit: str, language: str) -> str:
    """Format an amount in the reader's language: 1.2兆円, USD 1.2 billion."""
    large = _LARGE_JA if language == "ja" else _LARGE_EN
    size, word = next(((size, word) for size, word in large if value >= size), (1.0, ""))
    number = f"{value / size:,.4g}" if value / size < 1e4 else f"{value / size:,.0f}"
    if language == "ja":
        return f"{number}{word}{_UNITS_JA.get(unit, unit)}"
    return f"{unit} {number}{word}"
