"""Detect prompt injections in pages: hidden instructions to a language model, and chat template tokens."""

import re
import unicodedata

from localllm.base.lazy_patterns import late_pattern

_MODEL = (
    r"(?:AI|A\.I\.|LLM|(?:large )?language model|chat\s?bot|(?:AI )?assistant|(?:AI )?agent|summari[sz]er"
    r"|GPT|Claude|Gemini)s?"
)
_ORDERED = (
    r"(?:must|should|shall|have to|need to|are (?:required|instructed|asked|told) to|please|is to|are to"
    r"|state|say|report|write|include|mention|conclude|ignore|omit|output|answer|respond|reply)"
)
_ENGLISH = late_pattern(
    rf"\b(?:ignore|disregard|forget|override|bypass)\b.{{0,40}}\b(?:previous|prior|above|earlier|other|all|your|any)\b.{{0,30}}"
    rf"\b(?:instruction|prompt|rule|guideline|context|direction)s?\b"
    rf"|\b(?:ignore|disregard|forget)\b.{{0,12}}\b(?:the user's?|your|the)"
    rf" (?:question|request|task|job|instructions?)\b"
    rf"|\b(?:note|notice|message|instructions?|attention|important)\b.{{0,12}}\b(?:to|for)\b.{{0,20}}\b{_MODEL}\b"
    rf"|\bif you are an? (?:[\w-]+ ){{0,2}}{_MODEL}\b"
    rf"|\b(?:dear|hey|hello),? {_MODEL}\b"
    rf"|\b(?:(?:any|every|all|the) )?{_MODEL} (?:reading|summari[sz]ing|processing|(?:that|who|which) reads?)\b"
    rf".{{0,60}}\b{_ORDERED}\b"
    rf"|\byour (?:system prompt|instructions are|new instructions)\b"
    rf"|\b(?:system|assistant|user) ?(?:prompt|message|override)s? ?:",
    re.IGNORECASE,
)
_JAPANESE = late_pattern(
    r"(?:以前|これまで|今まで|上記|前|他|すべて)の?(?:すべての|全ての)?(?:指示|命令|プロンプト|ルール)(?:を|は|に).{0,12}(?:無視|忘れ|従わ|破棄)"
    r"|(?:AI|人工知能|言語モデル|LLM|アシスタント|エージェント|チャットボット)(?:へ|への|に(?:対する|告ぐ)|の(?:方|皆さん|みなさん)へ|は次の|は、?以下)"
    r"|(?:この|本)(?:文|文章|ページ|頁|記事|サイト)を(?:読む|読んで(?:いる|る)|要約する|処理する)(?:AI|人工知能|言語モデル|LLM|アシスタント)"
    r"|あなたが(?:AI|人工知能|言語モデル|LLM)(?:なら|であれば|の場合)"
    r"|(?:要約|報告|回答|レポート)(?:に(?:は)?|で(?:は)?).{0,30}(?:と(?:書|述べ|報告|記|記載|回答|答え)(?:いて|て|し|す|く|る)|を含めて).{0,6}(?:ください|こと|なさい|下さい|せよ)"
    r"|システム(?:プロンプト|メッセージ)\s?:"
)

_TEMPLATE_MARKS = late_pattern(
    r"<([|｜][^\s<>]{1,40}[|｜]"
    r"|/?(?:s|think|tool_calls?|tool_responses?|tool_results?|tools|function_calls?|start_of_turn|end_of_turn|bos|eos"
    r"|(?:start|end)_function_\w{1,20}|seed:\w{1,20})"
    r"|<\s?/?SYS\s?>?)>"
    r"|\[(/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT))\]"
    r"|\](~!?b)[\[\]]|\[(e~)\[",
    re.IGNORECASE,
)
"""Turn and call delimiters of chat templates, which a server may interpret even within a text."""


def speaks_to_model(text: str) -> bool:
    """Return whether a text gives orders to a model that reads it, rather than just mentioning models."""
    plain = unicodedata.normalize("NFKC", text)
    return bool(_ENGLISH.search(plain) or _JAPANESE.search(plain))


def without_template_marks(text: str) -> str:
    """Replace turn and call delimiters of chat templates (<|im_end|>, [INST], …) by ‹such›."""
    return _TEMPLATE_MARKS.sub(lambda found: f"‹{found[found.lastindex or 0]}›", text)
