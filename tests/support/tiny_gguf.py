"""Tiny model files with random weights: what such a model says is babble, but llama.cpp's real server serves it, with
its own wire, chat template, grammars, cache and errors. The same seed makes the same file.

The model is a llama of one block over a byte-level vocabulary. Two dimensions of what flows through it are kept free of
chance. The first is a constant, so that the output matrix has a column for how likely each token is in itself: readable
ASCII likely, all else hardly ever. The second is there after a few tokens only, and says what follows or does not.
"""

from pathlib import Path
from typing import Literal

import gguf
import numpy as np
from numpy.typing import NDArray

Kind = Literal["plain", "calling", "thinking", "noise", "toolless"]
"""calling: it begins a tool call as soon as it may. thinking: its template opens <think> before every answer. noise:
every token is as likely as any other, so that llama.cpp itself cannot make sense of what the model writes. toolless:
its template knows no tools."""

WINDOW = 8_192
WIDTH, HEADS, INNER = 64, 4, 96
CONSTANT = 4.0
UNLIKELY, LIKELY, CERTAIN = -14.0, 0.0, 14.0
QUOTE = 4.5
"""So that the texts in JSON come to an end."""

CONTROLS = ("<|end|>", "<|turn|>", "<|close|>")
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
EAGER: dict[Kind, dict[str, float]] = {
    "calling": {"<tool_call>": CERTAIN, "</tool_call>": CERTAIN / 2, "<": UNLIKELY},
    "thinking": {"</think>": CERTAIN},
}
"""What a model of a kind writes rather than anything else, where it may; and what it does not spell such a tag with."""

SIGNALS: dict[Kind, tuple[dict[str, float], str]] = {
    "calling": ({"</tool_call>": 1.0}, "<|close|>"),
    "thinking": ({"\n": -1.0, "</think>": -1.0}, "</think>"),
}
"""Tokens that are a signal, for (1) or against (-1) another that follows: after one call the answer ends; thinking does
not end before it has begun, nor twice in a row."""

WORDS = (
    " the",
    " file",
    " read",
    " a",
    " of",
    " and",
    " model",
    " line",
    " test",
    " name",
    " is",
    " in",
    "tool",
    "call",
)

TEMPLATE = r"""
{%- if tools -%}
<|turn|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}

Tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Call one as
<tool_call>{"name": "NAME", "arguments": {}}</tool_call><|close|>
{% elif messages[0].role == 'system' -%}
<|turn|>system
{{ messages[0].content }}<|close|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
<|turn|>assistant
REASONING{{ message.content or '' }}{% for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}<|close|>
{% elif message.role != 'system' -%}
<|turn|>{{ message.role }}
{{ message.content }}<|close|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|turn|>assistant
OPENING{%- endif -%}
"""

REASONING = r"""{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>
{% endif %}"""
"""A server whose template has this lets the model think before anything else, a schema or not."""

OPENING = r"{{ '<think>\n' }}"

WITHOUT_TOOLS = r"""
{%- for message in messages -%}
<|turn|>{{ message.role }}
{{ message.content }}<|close|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|turn|>assistant
{% endif -%}
"""


def make_tiny_gguf(file: Path, kind: Kind = "plain", *, seed: int = 3, architecture: str = "llama") -> Path:
    """Write the model to `file`, a third of a megabyte. One of an unknown `architecture` cannot be loaded."""
    tokens, kinds, merges = _vocabulary()
    writer = gguf.GGUFWriter(file, architecture)
    writer.add_name("tiny random")
    writer.add_size_label("tiny")
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tokens.index("<|end|>"))
    writer.add_eos_token_id(tokens.index("<|close|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(_template(kind))
    for name, weights in _weights(tokens, kind, np.random.default_rng(seed)).items():
        writer.add_tensor(f"{name}.weight", weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _template(kind: Kind) -> str:
    template = WITHOUT_TOOLS if kind == "toolless" else TEMPLATE
    reasoning = REASONING if kind in ("thinking", "noise") else ""
    return template.strip().replace("REASONING", reasoning).replace("OPENING", OPENING if kind == "thinking" else "")


def _vocabulary() -> tuple[list[str], list[gguf.TokenType], list[str]]:
    """The tokens, what each of them is, and the merges that make the longer ones."""
    letters = _letters()
    tokens = [letters[byte] for byte in range(256)]
    merges: list[str] = []
    for word in WORDS:
        parts = [letters[byte] for byte in word.encode()]
        for end in range(1, len(parts)):
            begun, whole = "".join(parts[:end]), "".join(parts[: end + 1])
            if whole not in tokens:
                tokens.append(whole)
                merges.append(f"{begun} {parts[end]}")
    kinds = [gguf.TokenType.NORMAL] * len(tokens)
    kinds += [gguf.TokenType.CONTROL] * len(CONTROLS) + [gguf.TokenType.USER_DEFINED] * len(TAGS)
    return [*tokens, *CONTROLS, *TAGS], kinds, merges


def _letters() -> dict[int, str]:
    """The letter that stands for each byte in a GPT-2 vocabulary: itself where it can be seen, else one from 256 on."""
    seen = [byte for byte in range(256) if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}


def _weights(tokens: list[str], kind: Kind, chance: np.random.Generator) -> dict[str, NDArray[np.floating]]:
    def random(rows: int, columns: int, spread: float) -> NDArray[np.floating]:
        return chance.normal(0.0, spread, (rows, columns))

    def beside_the_free(rows: int, columns: int) -> NDArray[np.floating]:
        weights = random(rows, columns, 0.12)
        weights[:2] = 0.0
        return weights

    embedding = random(len(tokens), WIDTH, 1.0)
    embedding[:, 0], embedding[:, 1] = CONSTANT, 0.0
    output = random(len(tokens), WIDTH, 0.2)
    output[:, 0] = 0.0 if kind == "noise" else _likelihood(tokens, kind) / CONSTANT
    output[:, 1] = 0.0
    if kind in SIGNALS:
        signals, meant = SIGNALS[kind]
        for token, sign in signals.items():
            embedding[tokens.index(token.replace("\n", _letters()[10])), 1] = sign * CONSTANT
        output[tokens.index(meant), 1] = 4 * CERTAIN / CONSTANT
    return {
        "token_embd": embedding,
        "output": output,
        "output_norm": np.ones(WIDTH),
        "blk.0.attn_norm": np.ones(WIDTH),
        "blk.0.ffn_norm": np.ones(WIDTH),
        "blk.0.attn_q": random(WIDTH, WIDTH, 0.12),
        "blk.0.attn_k": random(WIDTH, WIDTH, 0.12),
        "blk.0.attn_v": random(WIDTH, WIDTH, 0.12),
        "blk.0.attn_output": beside_the_free(WIDTH, WIDTH),
        "blk.0.ffn_gate": random(INNER, WIDTH, 0.12),
        "blk.0.ffn_up": random(INNER, WIDTH, 0.12),
        "blk.0.ffn_down": beside_the_free(WIDTH, INNER),
    }


def _likelihood(tokens: list[str], kind: Kind) -> NDArray[np.floating]:
    """How likely each token is in itself: readable text is. The model never stops by itself: every test says how much
    it is to write."""
    bytes_of = {letter: byte for byte, letter in _letters().items()}
    readable = [
        token not in CONTROLS + TAGS and all(32 <= bytes_of[letter] < 127 or bytes_of[letter] == 10 for letter in token)
        for token in tokens
    ]
    likely = np.where(readable, LIKELY, UNLIKELY)
    likely[tokens.index('"')] = QUOTE
    for token, eagerness in EAGER.get(kind, {}).items():
        likely[tokens.index(token)] = eagerness
    return likely
