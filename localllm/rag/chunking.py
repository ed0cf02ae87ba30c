"""Cut a text into chunks: along its structure, of a size in tokens, each with its titles and its place.

Blocks (a paragraph, a heading, a list item, a definition, a row) are joined up to the size; one that is longer is cut
at lines, sentences or, at last, anywhere. A heading begins a chunk where the one before is half full. Inside a section
a chunk repeats the end of the one before, so that what stands at the border is found from both sides.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from localllm.llm.tokens import measure
from localllm.rag.records import Chunk, Place, PlaceKind
from localllm.text.sentences import split_sentences

VERSION = 2
"""Grows when the same file is cut differently, or its chunks are found by other words, so that a collection knows that
it is stale."""

_HALF = 0.5
"""How full a chunk must be for a heading to begin another, and what headings that go into the next may take of it."""


class Block(NamedTuple):
    """A piece of a text that its structure sets apart."""

    text: str
    headings: tuple[str, ...] = ()
    kind: PlaceKind = "lines"
    first: int = 0
    last: int = 0
    is_heading: bool = False
    """What follows belongs to it: it ends no chunk."""
    is_alone: bool = False
    """It is joined with no other, such as a row of a table."""
    glue: str = "\n\n"
    """What stands between it and the block before."""


def token_count(text: str) -> float:
    """The tokens of a text, as estimated."""
    size = measure(text)
    return size.narrow + size.wide


def cut(blocks: Iterable[Block], tokens: int, overlap: int) -> list[Chunk]:
    """The chunks of a text of so many `tokens` each, `overlap` of which are of the one before."""
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
        """Put a block into the chunk being filled, or begin another with it."""
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
        """All chunks."""
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
        place = Place(blocks[0].kind, blocks[0].first, max(block.last for block in blocks))
        self._chunks.append(Chunk(text=text, headings=_common(blocks), place=place))


def _common(blocks: Sequence[Block]) -> tuple[str, ...]:
    """The titles all the blocks stand under; those of the first where that are none."""
    paths = [block.headings for block in blocks]
    shortest = min(map(len, paths))
    depth = next((at for at in range(shortest) if len({path[at] for path in paths}) > 1), shortest)
    return paths[0][: depth or None]


def _end_of(block: Block, tokens: float) -> list[Block]:
    """The last lines or sentences of a block that together have no more than so many tokens."""
    kept: list[Block] = []
    for piece in reversed(_lines_or_sentences(block)):
        tokens -= token_count(piece.text)
        if tokens < 0:
            break
        kept.insert(0, piece)
    return kept


def _pieces(block: Block, tokens: int) -> Iterator[Block]:
    """The block; where it is too long, parts of it: as many lines or sentences as fit."""
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
    """The lines of a block, in a block of one line its sentences."""
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
    if not spans:  # a part of nothing but blanks
        return []
    between = [block.glue, *(block.text[one.end : other.start] for one, other in pairwise(spans))]
    return [
        block._replace(text=block.text[span.start : span.end], glue=glue)
        for span, glue in zip(spans, between, strict=True)
    ]


def _anywhere(block: Block, tokens: int) -> Iterator[Block]:
    """Parts of a block of one endless line or sentence: of its sentences first, then of so many characters."""
    sentences = _lines_or_sentences(block)
    if len(sentences) > 1:
        for sentence in sentences:
            yield from _pieces(sentence, tokens)
        return
    length = max(1, int(len(block.text) * tokens / token_count(block.text)))
    for start in range(0, len(block.text), length):
        yield block._replace(text=block.text[start : start + length], glue="" if start else block.glue)
