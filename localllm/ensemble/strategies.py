"""How the answers of a run become one, by the name the configuration has for it."""

from localllm.ensemble.agents import Agent, Agents
from localllm.ensemble.records import Question, StrategyName
from localllm.ensemble.review import review
from localllm.ensemble.run import Strategy

STRATEGIES: dict[StrategyName, Strategy] = {"review": review}


def select_workers(question: Question, agents: Agents) -> tuple[Agent, ...]:
    """The workers that are asked."""
    del question
    return agents.workers
