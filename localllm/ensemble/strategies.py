"""The strategies that merge the answers of a run, by their name in the configuration."""

from localllm.ensemble.choice import best
from localllm.ensemble.ranking import rank
from localllm.ensemble.records import StrategyName
from localllm.ensemble.review import review
from localllm.ensemble.run import Strategy
from localllm.ensemble.vote import sample, vote

STRATEGIES: dict[StrategyName, Strategy] = {
    "review": review,
    "vote": vote,
    "self": sample,
    "best": best,
    "rank": rank,
}
