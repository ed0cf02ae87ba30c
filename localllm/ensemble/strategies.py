"""How the answers of a run become one, by the name the configuration has for it."""

from localllm.ensemble.records import StrategyName
from localllm.ensemble.review import review
from localllm.ensemble.run import Strategy

STRATEGIES: dict[StrategyName, Strategy] = {"review": review}
