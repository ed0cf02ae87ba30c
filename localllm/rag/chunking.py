"""Split a text into chunks along its structure, sized in tokens, each with its headings and position.

Blocks (a paragraph, heading, list item, definition, row) are joined up to the size; a longer block is split at lines,
then sentences, then anywhere. A heading starts a new chunk if the current one is half full. Within a section, a chunk
repeats the end of the previous one, so that text at the border is found from both sides.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from localllm.llm.tokens import measure
from localllm.rag.records import Chunk, Place, PlaceKind
from localllm.text.sentences import split_sentences

VERSION = 2
"""Increment when the same file yields other chunks or index terms; existing collections are then reported as stale."""

_HALF = 0.5
"""Fill level from which a heading starts a new chunk; also the share of a chunk that headings moved to the next may
use."""


class Block(NamedTuple):
    """A structural unit of a text."""

    text: str
    headings: tuple[str, ...] = ()
    kind: PlaceKind = "lines"
    first: int = 0
    last: int = 0
    is_heading: bool = False
    """It introduces what follows, so it never ends a chunk."""
    is_alone: bool = False
    """It is never joined with another block, such as a table row."""
    glue: str = "\n\n"
    """The separator from the previous block."""
    sheet: str = ""
    """In a workbook of several sheets, its sheet."""


def token_count(text: str) -> float:
    """Estimate the tokens of a text."""
    size = measure(text)
    return size.narrow + size.wide


def cut(blocks: Iterable[Block], tokens: int, overlap: int) -> list[Chunk]:
    """Split a text into chunks of `tokens` each, `overlap` of them repeated from the previous chunk."""
    packer = _Packer(tokens, min(overlap, tokens // 2))
    for block in blocks:
        if block.text.strip():
            for piece in _pieces(block, tokens):
                packer.add(piece)
    return packer.finish()


class _Packer:
    def __init__(self, tokens: int, overlap: int) -> None:
        self._tokens = tokens
        self._overlap = overlap
        self._blocks: list[Block] = []
        self._size = 0.0
        self._is_repeated = False
        self._chunks: list[Chunk] = []

    def add(self, block: Block) -> None:
        """Add a block to the current chunk, or start a new chunk with it."""
        size = token_count(block.text)
        last = self._blocks[-1] if self._blocks else None
        if last and (
            block.is_alone
            or last.is_alone
            or self._size + size > self._tokens
            or (block.is_heading and not last.is_heading and self._size >= _HALF * self._tokens)
            or block.kind != last.kind
        ):
            self._begin_another(block)
        self._blocks.append(block)
        self._size += size
        self._is_repeated = False

    def finish(self) -> list[Chunk]:
        """Flush the current chunk and return all chunks."""
        self._emit(self._blocks)
        return self._chunks

    def _begin_another(self, block: Block) -> None:
        done, carried, room = self._blocks, list[Block](), _HALF * self._tokens
        while len(done) > 1 and done[-1].is_heading and room > 0:  # a heading goes with what follows it
            carried.append(done.pop())
            room -= token_count(carried[-1].text)
        carried.reverse()
        self._emit(done)
        is_one_section = block.headings == done[-1].headings and block.kind == done[-1].kind
        if not carried and is_one_section and not (block.is_heading or block.is_alone):
            room = min(self._overlap, self._tokens - token_count(block.text))
            carried = _end_of(done[-1], room)
        self._blocks = carried
        self._size = sum(token_count(one.text) for one in carried)
        self._is_repeated = bool(carried)

    def _emit(self, blocks: Sequence[Block]) -> None:
        if not blocks or self._is_repeated:
            return
        text = blocks[0].text + "".join(block.glue + block.text for block in blocks[1:])
        place = Place(blocks[0].kind, blocks[0].first, max(block.last for block in blocks), blocks[0].sheet)
        self._chunks.append(Chunk(text=text, headings=_common(blocks), place=place))


def _common(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the headings all blocks share; those of the first block if they share none."""
    paths = [block.headings for block in blocks]
    shortest = min(map(len, paths))
    depth = next((at for at in range(shortest) if len({path[at] for path in paths}) > 1), shortest)
    return paths[0][: depth or None]


def _end_of(block: Block, tokens: float) -> list[Block]:
    """Return the last lines or sentences of a block that fit into `tokens`."""
    kept: list[Block] = []
    for piece in reversed(_lines_or_sentences(block)):
        tokens -= token_count(piece.text)
        if tokens < 0:
            break
        kept.insert(0, piece)
    return kept


def _pieces(block: Block, tokens: int) -> Iterator[Block]:
    """Yield the block, or, if it is too long, parts of as many lines or sentences as fit."""
    if token_count(block.text) <= tokens:
        yield block
        return
    gathered: Block | None = None
    for part in _lines_or_sentences(block):
        if gathered and token_count(gathered.text) + token_count(part.text) <= tokens:
            gathered = gathered._replace(text=gathered.text + part.glue + part.text, last=part.last)
            continue
        if gathered:
            yield gathered
        gathered = None
        if token_count(part.text) <= tokens:
            gathered = part
        else:
            yield from _anywhere(part, tokens)
    if gathered:
        yield gathered


def _lines_or_sentences(block: Block) -> list[Block]:
    """Split a block into its lines, or a single line into its sentences."""
    lines = block.text.split("\n")
    if len(lines) > 1:
        counted = block.kind == "lines" and block.last - block.first == len(lines) - 1
        return [
            block._replace(
                text=line,
                glue="\n" if number else block.glue,
                first=block.first + number if counted else block.first,
                last=block.first + number if counted else block.last,
            )
            for number, line in enumerate(lines)
        ]
    spans = split_sentences(block.text)
    if not spans:  # only whitespace
        return []
    between = [block.glue, *(block.text[one.end : other.start] for one, other in pairwise(spans))]
    return [
        block._replace(text=block.text[span.start : span.end], glue=glue)
        for span, glue in zip(spans, between, strict=True)
    ]


def _anywhere(block: Block, tokens: int) -> Iterator[Block]:
    """Split a block of one overlong line or sentence: at sentences first, then at a character count."""
    sentences = _lines_or_sentences(block)
    if len(sentences) > 1:
        for sentence in sentences:
            yield from _pieces(sentence, tokens)
        return
    length = max(1, int(len(block.text) * tokens / token_count(block.text)))
    for start in range(0, len(block.text), length):
        yield block._replace(text=block.text[start : start + length], glue="" if start else block.glue)
