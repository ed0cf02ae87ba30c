"""Make visible what hides in a line that is edited. Imported with prompt_toolkit, which takes a while to load."""

from itertools import islice

from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from localllm.text.sanitising import without_hidden


class NothingHidden(Processor):
    """Shows a sign for what would reorder the line or take no ink, which may be of a model: a command that is to be
    allowed, a query; or was pasted."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        parts = transformation_input.fragments
        # Of the whole line: where something is selected or searched each character is a part, also those of an emoji.
        shown = iter(without_hidden("".join(part[1] for part in parts)))
        return Transformation([(part[0], "".join(islice(shown, len(part[1])))) for part in parts])
