"""How the answers of a run become one, by the name the configuration has for it."""

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
