"""Recognise in answers, in English and Japanese, that something was run, installed or looked at, or works."""

import re

from localllm.agent.phrases.phrase_search import search_ja, sentences_in

_RAN_BY_ME = (
    r"(?i)(?:\bi(?:'ve| have)? (?:(?:now|also|just|then|successfully|already) ){0,2}"
    r"(?:ran|run|executed|launched|started)\b"
    r"(?! (?:into|out|through|over|the numbers|with|at|on|\w{2,20}ing|(?:an? )?(?:quick |full )?search|by|from"
    r"|`?(?:git_|analy[sz]e_|search_|list_|read_)\w{1,20}|(?:an? |the )?`?(?:grep|rg|ripgrep))\b)"
    r"|^(?:ran|executed|launched) (?:it|the|`))"
)
_RAN_JA = (
    r"(?:実行|起動)(?:は)?(?:し(?:ました|てみました|ております)|いたしました|済み)|(?:走らせ|動かし)(?:てみ)?ました"
)
_NO_PROGRAM = (
    r"(?i)検索|分析|解析|調査|レビュー|要約|翻訳|比較|ません|ない|\?$|？$|ログ|記録|によ(?:ると|れば)|(?<![.\d:])\d{1,2}:[0-5]\d\b"
    r"|\b(?:if|when|should|would|could|not|never)\b|n't\b"
)
_WORKS = (
    r"(?i)\b(?:works?|runs?|starts?|started|running|working) "
    r"(?:well|fine|correctly|properly|successfully|as expected)\b"
    r"|\b(?:it|everything|the (?:program|script|server|app)) (?:now )?(?:works|runs|has started|is running)\b"
    r"|\b(?:ran|executed|started|completed|finished) (?:successfully|without (?:any )?(?:errors?|problems?|issues?))\b"
    r"|(?:正しく|正常に|問題なく|無事に?|うまく)[^。\n]{0,12}(?:起動|実行|動作|動|終了|完了)[^。\n]{0,8}(?:ました|ています|ます)"
)


def claims_run(answer: str) -> bool:
    """Return whether it claims that its author has run a program."""
    return any(map(_claims_run, sentences_in(answer)))


def _claims_run(said: str) -> bool:
    if re.search(_RAN_BY_ME, said):
        return not re.search(_NO_PROGRAM, said)
    found = None if said.isascii() or said.endswith(("?", "？", "か", "か。")) else re.search(_RAN_JA, said)
    return found is not None and not re.search(_NO_PROGRAM, said[: found.end()])  # what follows tells the result


_INSTALLED = (
    r"(?i)\b(?:i|we)(?:'ve| have)? (?:now |just |successfully )?installed\b|^(?:successfully )?installed\b"
    r"|\b(?:is|are) installed(?: now| successfully)?(?:[.!]|$)|\b(?:is|are) now installed\b"
    r"|\b(?:was|were|been) (?:successfully )?installed\b"
    r"|インストール(?:は|が|を)?(?:完了)?(?:し(?:ました|ています|てあります)|です|済み)"
)


_BEGINS = r"(?:^|[;&|(\n])[ \t]{0,8}"
_DEEDS = {
    "install": (
        r"\b(?:pip3?|uv|poetry|pipx|conda|npm|pnpm|yarn|bun|apt|apt-get|brew|dnf|cargo|gem|go|composer) "
        r"(?:-\S{1,40} ){0,4}(?:install|add|i|ci|get|require)\b",
        _INSTALLED,
    ),
    "pack": (
        rf"{_BEGINS}(?:tar (?!-?[a-zA-Z]{{0,9}}t|--list)|(?:un)?zip (?!-[a-zA-Z]{{0,9}}[ltvTZ])"
        r"|(?:gzip|bzip2|xz|7z) (?!-?[lt]))",
        r"(?i)\b(?:packed|archived|compressed|zipped|extracted|unpacked)\b|(?:固め|(?:圧縮|展開|解凍|アーカイブ)(?:し|が完了し))ました",
    ),
    "download": (
        rf"{_BEGINS}(?:wget|aria2c|curl\b[^;&|\n]{{0,400}}(?: -[a-zA-Z]{{0,9}}[oO]| --output| --remote-name| ?>))",
        r"(?i)\b(?:downloaded|fetched)\b|(?:ダウンロード|取得)(?:が完了)?しました",
    ),
    "copy": (
        rf"{_BEGINS}(?:scp|rsync) ",
        r"(?i)\b(?:uploaded|downloaded|copied)\b|(?:アップロード|ダウンロード|コピー)(?:が完了)?しました",
    ),
    "format": (
        r"\b(?:black|isort|prettier|gofmt|rustfmt|clang-format|ruff format|(?:go|cargo) fmt)\b",
        r"(?i)\b(?:re)?formatted\b|(?:整形|フォーマット)(?:が完了)?しました",
    ),
    "start": (
        r"\b(?:(?:docker|podman)(?:-compose| compose)?|systemctl)\b[^;&|\n]{0,80} (?:up|run|start|restart)\b",
        r"(?i)\b(?:re)?started\b|\b(?:is|are) (?:now )?(?:up|running)\b|起動(?:が完了)?しました",
    ),
}
"""For each deed the commands that are to do it, and what claims it."""


def deeds_of(command: str) -> list[str]:
    """Return what a command is to do, of what an answer may claim."""
    return [deed for deed, (programs, _) in _DEEDS.items() if re.search(programs, command)]


def claims_deed(deed: str, answer: str) -> bool:
    """Return whether the answer claims such a deed."""
    claim = _DEEDS[deed][1]
    return any(re.search(claim, said) and not re.search(_NO_PROGRAM, said) for said in sentences_in(answer))


_LOOKED = (
    r"(?i)\bi(?:'ve| have)? (?:searched|looked (?:through|in|into|at)|checked|scanned|read|reviewed|examined|inspected"
    r"|grepped|went through|gone through) (?:(?:all|of|the|your|every|through|this|entire|whole|source|python) ){0,4}"
    r"(?:project|code(?:base)?|files?|repo(?:sitory)?|sources?|folders?|director(?:y|ies)|`?[\w./-]{1,80}\.\w{1,8})\b"
)
_LOOKED_JA = (
    r"(?:プロジェクト|コード|ファイル|リポジトリ|ソース|[\w./-]{1,80}\.\w{1,8}`?)(?:全体|内|中)?[をの](?:[^。、\n]{0,8}[をに])?"
    r"(?:検索|確認|調査|精査|レビュー)し(?:ました|たところ)|(?:プロジェクト|コード|ファイル|リポジトリ)[^。、\n]{0,8}を(?:調べ|探し|読み)ました"
)


def claims_look(answer: str) -> bool:
    """Return whether it claims that its author has searched or read files."""
    return any(
        (re.search(_LOOKED, said) or search_ja(_LOOKED_JA, said)) and not said.endswith(("?", "？"))
        for said in sentences_in(answer)
    )


def claims_works(answer: str) -> bool:
    """Return whether it claims that a program runs as it should."""
    return any(re.search(_WORKS, said) and not re.search(_NO_PROGRAM, said) for said in sentences_in(answer))
