"""Make hidden characters of an edited line visible. Imported with prompt_toolkit, which loads slowly."""

from itertools import islice

from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from localllm.text.sanitising import without_hidden


class NothingHidden(Processor):
    """Replace characters that reorder the line or are invisible by a sign; the line may be a model's (a command to
    approve, a query) or pasted."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        parts = transformation_input.fragments
        # Processed as a whole line: in a selection or search, each character of an emoji is a fragment of its own.
        shown = iter(without_hidden("".join(part[1] for part in parts)))
        return Transformation([(part[0], "".join(islice(shown, len(part[1])))) for part in parts])
