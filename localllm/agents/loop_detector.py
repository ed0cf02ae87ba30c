"""Seeing that the model does the same again and again."""

import msgspec

from localllm.base.events import ToolCall


class Step(msgspec.Struct, frozen=True):
    """A call and what came of it, in a form that equal steps share: sorted keys, no ids."""

    call: str
    result: str


class LoopDetector:
    """Counts equal steps at the end of the run. `threshold` of them are a repetition."""

    def __init__(self, threshold: int = 3) -> None:
        self.threshold = threshold
        self._steps: list[Step] = []

    def record(self, call: ToolCall, result: str) -> None:
        """A call has been answered with `result`."""
        self._steps.append(Step(f"{call.name} {_canonical(call.arguments)}", result))

    def reset(self) -> None:
        """The user spoke: begin afresh."""
        self._steps.clear()

    def repetitions(self) -> int:
        """How many of the last steps are equal, 0 where there is none."""
        count = 0
        for step in reversed(self._steps):
            if step != self._steps[-1]:
                break
            count += 1
        return count

    def detected(self) -> bool:
        """Whether the end of the run is a repetition."""
        return self.repetitions() >= self.threshold


def _canonical(arguments: str) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments or "{}"), order="deterministic").decode()
    except msgspec.DecodeError:
        return arguments
