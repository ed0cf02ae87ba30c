"""A small web about markets on loopback: Serper's wire in front, pages behind, and a model that plays the scan's roles.

A page says one fact of its purpose, in Japanese where it is about Japan, else in English.
"""

import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from localllm.research.market.market_records import JAPANESE, PURPOSES, MarketPurpose
from tests.support.loopback import LoopbackServer

KEY = "0123456789abcdef0123456789abcdef01234567"


class Fact(NamedTuple):
    """What a page says, in both languages."""

    purpose: MarketPurpose
    ja: str
    en: str

    @property
    def on_page(self) -> str:
        """As it stands on its page."""
        return self.ja if self.purpose in JAPANESE else self.en


FACTS = (
    Fact(
        "market_size",
        "国内の市場規模は2024年に1兆2000億円だった。",
        "In 2024 Japan's market was worth 1.2 trillion yen.",
    ),
    Fact("market_size", "市場は2030年に3兆5000億円になる見込みだ。", "In 2030 it is to be worth 3.5 trillion yen."),
    Fact("competitors", "大手の通信会社が市場の60%を占める。", "Large telecom companies hold 60% of the market."),
    Fact("competitors", "市場には120社が参入している。", "There are 120 companies in the market."),
    Fact("trends", "自治体の45%が基盤を導入した。", "Of the municipalities 45% have introduced a platform."),
    Fact("trends", "実証実験は2023年に80件行われた。", "In 2023 there were 80 trials."),
    Fact("regulations", "改正法は2025年4月に施行された。", "The revised law came into force in April 2025."),
    Fact("regulations", "補助金の上限は5000万円である。", "The subsidy is limited to 50 million yen."),
    Fact("needs", "住民の70%が交通の改善を望む。", "Of the residents 70% want better transport."),
    Fact("needs", "高齢者の40%が見守りを望む。", "Of the elderly 40% want to be looked after."),
    Fact("startups", "新興企業は2024年に24億ドルを調達した。", "Startups raised $2.4 billion in 2024."),
    Fact("startups", "投資は300社に及んだ。", "Investments went to 300 companies."),
    Fact("technology", "デジタルツインは計画の時間を30%短縮した。", "Digital twins shortened planning by 30%."),
    Fact("technology", "センサーの費用は20%下がった。", "Sensors cost 20% less."),
    Fact("best_practices", "ある都市は水を25%節約した。", "One city saved 25% of its water."),
    Fact("best_practices", "別の都市は渋滞を15%減らした。", "Another city reduced traffic jams by 15%."),
)
WORDS: dict[MarketPurpose, tuple[str, str]] = {
    "market_size": ("市場規模", "市場規模 推移"),
    "competitors": ("主要企業", "主要企業 シェア"),
    "trends": ("最新動向", "最新動向 自治体"),
    "regulations": ("規制", "規制 補助金"),
    "needs": ("ニーズ", "ニーズ 住民"),
    "startups": ("startups", "startups funding"),
    "technology": ("technology", "latest technology"),
    "best_practices": ("best practices", "best practices case study"),
}
"""The word by which a query's purpose is known, and what a model adds to the theme that answers otherwise."""

_WORDS_JA = "春先 会議 河川 港町 報告 委員 農園 図書 職員 広場 資料 山村 展示 講座 校舎 歩道 倉庫 漁港 店舗 劇場 工房"
_WORDS_EN = (
    "spring meeting river harbour report committee orchard library clerk square paper village exhibition course "
    "school pavement warehouse fishing shop theatre workshop park bridge tunnel garden archive"
)


def filler(language: str, number: int) -> str:
    """What a page tells besides, on each something else."""
    words = random.Random(number).sample((_WORDS_JA if language == "ja" else _WORDS_EN).split(), 16)
    return "と".join(words) + "についても記した。" if language == "ja" else f"It also tells of {', '.join(words)}."


Outcome = int | str
"""A status, "slow" or "malformed"."""


class MarketWeb(LoopbackServer):
    """`outcomes` says how searches of a purpose fail, by its name or "*"; `asked` has the bodies of searches, `keys`
    the keys they came with. `delay` is how many seconds a search takes, `extra` further results of every search, `most`
    how many ran at once.
    `together`: a search is answered once so many run."""

    def __init__(self, outcomes: Mapping[str, Outcome] | None = None, *, delay: float = 0.0) -> None:
        super().__init__(_Handler)
        self.outcomes = dict(outcomes or {})
        self.delay = delay
        self.extra: list[dict[str, str]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.retry_after = ""
        self.released = threading.Event()
        self.is_asked = threading.Event()
        self.running = self.most = self.together = 0
        self.lock = threading.Condition()

    @property
    def place(self) -> str:
        return self.url.partition("://")[2]

    def found(self, query: str) -> list[dict[str, str]]:
        """What Serper finds."""
        purpose = purpose_of(query)
        facts = [one for one in FACTS if one.purpose == purpose]
        results = [
            {"title": f"{purpose} {number}", "link": f"{self.url}/pages/{purpose}/{number}", "snippet": fact.on_page}
            for number, fact in enumerate(facts)
        ]
        return [*results, *self.extra]

    def gathered(self, count: int) -> None:
        """Wait until so many searches run at once."""
        with self.lock:
            self.lock.wait_for(lambda: self.most >= count, 5)

    def __exit__(self, *of: object) -> None:
        self.released.set()
        super().__exit__(*of)


class _Handler(BaseHTTPRequestHandler):
    owner: MarketWeb

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        web = self.owner
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with web.lock:
            web.asked.append(body)
            web.keys.append(self.headers.get("x-api-key", ""))
            web.running += 1
            web.most = max(web.most, web.running)
            web.is_asked.set()
            web.lock.notify_all()
        try:
            self._answer(body)
        finally:
            with web.lock:
                web.running -= 1

    def _answer(self, body: dict[str, Any]) -> None:
        web = self.owner
        time.sleep(web.delay)
        if web.together:
            web.gathered(web.together)
        outcome = web.outcomes.get(purpose_of(body["q"]), web.outcomes.get("*", 200))
        if outcome == "slow":
            web.released.wait(30)
            return
        if outcome == "malformed":
            self._send(200, b"<html>not JSON</html>", "text/html")
            return
        if self.headers.get("x-api-key") != KEY:
            outcome = 403
        if outcome != 200:
            self._send(int(outcome), json.dumps({"message": "refused", "statusCode": outcome}).encode())
            return
        answer = {"searchParameters": body, "organic": web.found(body["q"])[: body.get("num", 10)]}
        self._send(200, json.dumps(answer).encode())

    def do_GET(self) -> None:
        parts = unquote(urlsplit(self.path).path).split("/")
        if len(parts) != 4 or parts[1] != "pages":
            self._send(404, b"")
            return
        facts = [one for one in FACTS if one.purpose == parts[2]]
        fact = facts[int(parts[3])]
        language = "ja" if fact.purpose in JAPANESE else "en"
        head = f"<html lang={language}><title>{parts[2]} {parts[3]}</title>"
        text = (
            f"<body><article><p>{filler(language, FACTS.index(fact))}</p><p>{fact.on_page}</p></article></body></html>"
        )
        self._send(200, f"{head}{text}".encode(), "text/html; charset=utf-8")

    def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            if status == 429 and self.owner.retry_after:
                self.send_header("retry-after", self.owner.retry_after)
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass


def purpose_of(query: str) -> MarketPurpose:
    """What a query is for."""
    return next((one for one in PURPOSES if WORDS[one][0] in query), "market_size")


class MarketModel:
    """Plays the roles of a scan truthfully; with `lies` it also notes, beside each fact, something that the page does
    not say, and something whose quote is on no page. `style` chooses between two ways to word its queries."""

    def __init__(self, theme: str, *, style: int = 0, lies: bool = False) -> None:
        self.theme = theme
        self.style = style
        self.lies = lies
        self.roles: list[str] = []

    def __call__(self, messages: Sequence[dict[str, Any]], _schema: dict[str, Any] | None = None) -> str:
        role = re.match(r"You are the (.+) of a research team\.", messages[0]["content"])
        assert role
        self.roles.append(role[1])
        asked = "\n".join(one["content"] for one in messages[1:] if one["role"] == "user")
        language = re.findall(r"Language: (ja|en)", asked)[-1]
        parts: dict[str, Callable[[str, str], Any]] = {
            "market queries": self._queries,
            "market reader": self._insights,
            "verdict": self._verdict,
            "applicability": self._applicability,
            "market summary": self._summary,
        }
        return json.dumps(parts[role[1]](asked, language), ensure_ascii=False)

    def _queries(self, asked: str, _language: str) -> Any:
        wanted = [one for one in PURPOSES if re.search(rf"^- {one}:", asked, re.MULTILINE)]
        return {"queries": [{"purpose": one, "query": f"{self.theme} {WORDS[one][self.style]}"} for one in wanted]}

    def _insights(self, asked: str, language: str) -> Any:
        page = asked.partition("<page>")[2].partition("</page>")[0]
        here = [one for one in FACTS if one.on_page in page]
        insights = [{"quote": one.on_page, "text": getattr(one, language)} for one in here]
        if self.lies and here:
            false = "市場は9999億円である。" if language == "ja" else "The market is worth 999.9 billion yen."
            insights += [
                {"quote": here[0].on_page, "text": false},
                {"quote": "これはどのページにもない文である。", "text": false},
            ]
        return {"insights": insights}

    def _verdict(self, asked: str, _language: str) -> Any:
        claim = asked.partition("<claim>\n")[2].partition("\n</claim>")[0]
        passages = asked.partition("<passages>")[2].partition("</passages>")[0]
        for fact in FACTS:
            if claim in (fact.ja, fact.en) and fact.on_page in passages:
                return {"quote": fact.on_page, "verdict": "supported"}
        return {"quote": "", "verdict": "not_found"}

    def _applicability(self, asked: str, language: str) -> Any:
        japan = re.findall(r"^\[(I\d+)\] (.+?) \(", asked.partition("<japan>")[2], re.MULTILINE)
        say = {
            "ja": ("日本でも使える。", "需要があるから。", "費用が壁になる。"),
            "en": ("It could be used in Japan.", "Residents want it.", "The cost is in the way."),
        }[language]
        known = [{"text": text, "evidence": name} for name, text in japan[:1]]
        return {
            "what": say[0],
            "why": say[1],
            "obstacles": [{"text": say[2], "evidence": ""}],
            "precedents": [*known, {"text": say[0], "evidence": "I99"}],
        }

    def _summary(self, asked: str, _language: str) -> Any:
        found = re.findall(r"^\[(I\d+)\] \(\w+\) (.+)$", asked, re.MULTILINE)
        return {
            "summary": [{"text": text, "findings": [name]} for name, text in found[:3]],
            "key_findings": [name for name, _text in found[:4]],
            "recommendations": [],
        }
