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


def claims_install(answer: str) -> bool:
    """Return whether it claims that something was installed."""
    return any(re.search(_INSTALLED, said) and not re.search(_NO_PROGRAM, said) for said in sentences_in(answer))


_DEEDS = (
    (
        r"\b(?:tar|zip|unzip|gzip|gunzip|bzip2|xz|7z)\b",
        r"(?i)\b(?:packed|archived|compressed|zipped|extracted|unpacked)\b|(?:固め|(?:圧縮|展開|解凍|アーカイブ)(?:し|が完了し))ました",
    ),
    (
        r"\b(?:curl|wget|aria2c|scp|rsync)\b",
        r"(?i)\b(?:downloaded|fetched|uploaded|copied)\b|(?:ダウンロード|アップロード|取得|コピー)(?:が完了)?しました",
    ),
    (
        r"\b(?:black|isort|prettier|gofmt|rustfmt|clang-format|ruff format|(?:go|cargo) fmt)\b",
        r"(?i)\b(?:re)?formatted\b|(?:整形|フォーマット)(?:が完了)?しました",
    ),
    (
        r"\b(?:docker|podman|systemctl)\b",
        r"(?i)\b(?:re)?started\b|\b(?:is|are) (?:now )?(?:up|running)\b|起動(?:が完了)?しました",
    ),
)
"""What claims that a command was done, for the commands that do it."""


def claims_deed(command: str, answer: str) -> bool:
    """Return whether the answer claims what the command was to do."""
    claims = [claim for programs, claim in _DEEDS if re.search(programs, command)]
    return any(
        re.search(claim, said) and not re.search(_NO_PROGRAM, said) for said in sentences_in(answer) for claim in claims
    )


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
