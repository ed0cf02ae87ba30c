from localllm.text.quantities import quantities
from localllm.text.quantity_agreement import agrees
from tests.support.each import each


@each(
    ("one", "other"),
    [
        ("12億ドル", "$1.2 billion"),
        ("令和6年", "in 2024"),
        ("令和元年5月1日", "1 May 2019"),
        ("April 1, 2024", "2024年4月1日"),
        ("2024-04-01", "1 April 2024"),
        ("3割", "30 %"),
        ("3割5分", "35 percent"),
        ("三分の一", "a third"),
        ("1.2 GW", "1,200 MW"),
        ("64 GiB", "65,536 MiB"),
        ("３億２０００万円", "320 million yen"),
        ("US$12bn", "120億ドル"),
        ("twenty-one people", "21人"),
        ("1,200 full-time employees", "1200人"),
        ("10万5,000世帯", "105,000 households"),
        ("第3四半期", "third quarter"),
        ("午後3時30分", "3:30 pm"),
        ("19世紀", "the 19th century"),
        ("1990年代", "the 1990s"),
        ("時速100キロ", "100 km/h"),
        ("16キロ", "10 miles"),
        ("20°C", "68 °F"),
        ("十二社", "12 companies"),
        ("二〇二四年", "2024"),
        ("18か月", "18 months"),
        ("2倍", "doubled"),
        ("about 300 people", "312人"),
        ("300人以上", "312 people"),
        ("3.2 billion yen", "32億1,400万円"),
        ("one in four", "4軒に1軒"),
        ("two in three", "3人に2人"),
        ("every fifth customer", "20 %"),
        ("2:24:51", "2時間24分51秒"),
        ("27:14.2", "27分14秒2"),
        ("half a percentage point", "0.5ポイント"),
        ("an hour and a half", "90分"),
        ("a minute and a half", "90秒"),
        ("eight in the evening", "20時"),
        ("half past nine", "9時半"),
        ("half a century", "半世紀"),
        ("every fortnight", "2週間"),
        ("every other week", "隔週"),
        ("the fifth century", "5世紀"),
        ("twenty-fifth", "第25"),
        ("60キロ", "60 kilograms"),
        ("40セント", "0.40 euros"),
        ("65p", "65ペンス"),
        ("minus 5 degrees Celsius", "氷点下5度"),
        ("18 months", "1年半"),
        ("nine days", "9日"),
        ("on the 9th", "9日"),
        ("2度", "twice"),
        ("2024/25", "2024年度"),
        ("aged 40 years", "40歳"),
        ("an hour and 20 minutes", "80分"),
        ("a two-and-a-half-hour film", "2時間半"),
        ("2m euros", "200万ユーロ"),
        ("90年代", "the 1990s"),
        ("5年目", "the fifth year"),
        ("5日に1日", "one day in five"),
        ("fewer than one in ten", "1割に満たない"),
        ("23年", "in 2023"),
        ("1987年", "in mid-1987"),
        ("5月", "until mid-May"),
        ("9月9日", "Sept. 9"),
        ("それは2030年代", "the 2030s"),
        ("80代", "84 years old"),
        ("半額", "half"),
        ("25％", "and a quarter of them"),
        ("4ドル30セント", "$4.30"),
        ("2000万クローナ", "20 million crowns"),
        ("2000万コルナ", "20 million crowns"),
        ("50万フラン", "half a million francs"),
        ("14キロ", "30 pounds"),
        ("31.2度", "31.2C"),
        ("200万人", "2m visitors"),
        ("777万人", "7.77m"),
        ("17世紀", "in 1648"),
        ("18世紀", "the 1700s"),
        ("2世紀", "200 years"),
    ],
)
def test_two_ways_to_write_it_agree(one: str, other: str) -> None:
    first, second = quantities(one), quantities(other)
    assert len(first) == len(second) == 1
    assert agrees(first[0], second[0])


@each(
    ("claim", "stated"),
    [
        ("12 %", "21 %"),
        ("12 people", "12 %"),
        ("$12 million", "12 million euros"),
        ("12 km", "12 miles"),
        ("12億円", "12億ドル"),
        ("2023", "2024"),
        ("1 April 2024", "2 April 2024"),
        ("more than 400", "312"),
        ("3.21 billion yen", "3.3 billion yen"),
        ("12 million", "12 billion"),
        ("5 years", "5 months"),
        ("one in four", "5軒に1軒"),
        ("half an hour", "half a day"),
        ("2:24:51", "2時間24分"),
        ("40 cents", "0.50 euros"),
        ("12日", "20日"),
        ("1987年", "in mid-1986"),
        ("80代", "79 years old"),
        ("半額", "60 %"),
        ("4ドル30セント", "$4.50"),
        ("2000万クローナ", "20 million pesos"),
        ("14キロ", "40 pounds"),
        ("17世紀", "in 1748"),
        ("777万人", "7.17m"),
    ],
)
def test_what_differs_does_not_agree(claim: str, stated: str) -> None:
    assert not any(agrees(one, other) for one in quantities(claim) for other in quantities(stated))


@each(
    "text",
    [
        "version 1.2",
        "1.2.3",
        "text [3]",
        "1. first",
        "COVID-19 and A380",
        "5G",
        "一方で十分に",
        "数千",
        "the first half of the game",
        "",
    ],
)
def test_what_is_no_quantity(text: str) -> None:
    assert quantities(text) == []


@each(
    ("text", "values"),
    [
        ("10–20 %", [(10, "%"), (20, "%")]),
        ("between 10 and 20 million dollars", [(1e7, "USD"), (2e7, "USD")]),
        ("2019-2023", [(20190000, ""), (20230000, "")]),
        ("from 42 million to 67 million m³", [(4.2e10, "L"), (6.7e10, "L")]),
        ("12 to 15 May 2024", [(20240512, ""), (20240515, "")]),
        ("5月12〜15日", [(500, ""), (512, ""), (515, "")]),
        ("between $2 and $3 billion", [(2e9, "USD"), (3e9, "USD")]),
        ("1日16時間", [(86_400, "s"), (57_600, "s")]),
        ("May 12 and 13", [(512, ""), (513, "")]),
        ("a dozen of 1 200 MW", [(12, ""), (1.2e9, "W")]),
    ],
)
def test_ranges_share_their_unit(text: str, values: list[tuple[float, str]]) -> None:
    assert [(one.value, one.unit) for one in quantities(text)] == values


def test_spans_are_of_the_raw_text() -> None:
    text = "売上は１２億円で、前年より３０％増えた。"
    assert [text[one.span.start : one.span.end] for one in quantities(text)] == ["１２億円", "３０％"]


@each(
    ("text", "values"),
    [
        ("six to eight hours", [6 * 3_600, 8 * 3_600]),
        ("ten to twelve square metres", [10, 12]),
        ("two to three million dollars", [2e6, 3e6]),
        ("between 1.1 and 1.3 million pilgrims", [1.1e6, 1.3e6]),
        ("from 68,000 to fewer than 8,000 tonnes", [68e6, 8e6]),
        ("one in ten thirty years ago", [10, 360]),
        ("a year and a half", [18]),
        ("2026~27年", [20_260_000, 20_270_000]),
        ("4~6月期", [400, 600]),
        ("12 and 3 million people", [12, 3e6]),
    ],
)
def test_ranges_and_rows_are_read_in_the_unit_of_their_last(text: str, values: list[float]) -> None:
    assert [round(one.value, 6) for one in quantities(text)] == values


def test_hundreds_of_digits_are_no_quantity() -> None:
    digits = "9" * 400
    told = " ".join(
        f"{shape}." for shape in (digits, f"in {digits}", f"{digits}%", f"{digits} years", f"{digits}/{digits}")
    )
    assert all(abs(one.value) < 1e309 for one in quantities(told))
    assert [one.value for one in quantities(f"{digits} and 120 people")] == [120.0]
