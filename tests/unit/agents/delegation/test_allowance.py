"""The limits of one run, shared out over several agents."""

from localllm.agents.delegation.allowance import TIMES_THE_STEPS, Allowance
from localllm.base.config.schema import AgentSettings
from localllm.base.events import Usage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_limits_only_steps_are_counted() -> None:
    allowance = Allowance(AgentSettings(max_iterations=5))
    for _ in range(TIMES_THE_STEPS * 5):
        assert not allowance.reached
        allowance.note(Usage(prompt_tokens=10**9))
    assert "agent.max_iterations" in allowance.reached
    assert allowance.seconds is None


def test_what_one_leaves_goes_to_those_that_begin_later() -> None:
    allowance = Allowance(AgentSettings(max_iterations=50, token_limit=1_000))
    assert allowance.share(4, 1).token_limit == 250
    assert allowance.share(4, 1).max_iterations == 25
    allowance.note(Usage(prompt_tokens=90, completion_tokens=10))
    assert allowance.share(3, 1).token_limit == 300
    assert allowance.share(1, 1).max_iterations == 50  # no agent has more than a run


def test_time_is_shared_where_they_work_one_after_another() -> None:
    clock = Clock()
    allowance = Allowance(AgentSettings(time_limit=60), clock)
    assert allowance.share(3, 1).time_limit == 20
    assert allowance.share(3, 3).time_limit == 60
    clock.now += 59
    assert (allowance.seconds, allowance.reached) == (1, "")
    clock.now += 1
    assert "60 s" in allowance.reached


def test_tokens_of_all_are_added_up() -> None:
    allowance = Allowance(AgentSettings(token_limit=100))
    allowance.note(Usage(prompt_tokens=60, completion_tokens=39))
    assert not allowance.reached
    allowance.note(Usage(prompt_tokens=1))
    assert "agent.token_limit" in allowance.reached
