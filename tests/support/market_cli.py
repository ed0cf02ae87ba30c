"""`localllm market` as a user calls it: real processes, a loopback web behind Serper's wire, a played model."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.research_web.served_model import ServedModel
from tests.support.market_web import KEY, MarketModel, MarketWeb
from tests.support.program import Program


class MarketWorld(Program):
    """A user with a model server and Serper. What the model plays can be changed between calls by `player`."""

    def __init__(self, folder: Path, web: MarketWeb, player: MarketModel) -> None:
        super().__init__(folder, more={"SERPER_API_KEY": KEY})
        self.web = web
        self.player = player
        self.model = ServedModel(lambda messages, schema: self.player(messages, schema))  # noqa: PLW0108 - it may change

    def with_key(self, key: str) -> None:
        """Use another key."""
        self._more["SERPER_API_KEY"] = key

    def settings(self) -> str:
        return (
            f'[llm]\nprovider = "openai"\n[llm.openai]\nbase_url = "{self.model.url}"\n'
            f'[web]\nengines = ["serper"]\nallow_private = ["{self.web.place}"]\n'
            f'[web.serper]\nbase_url = "{self.web.url}"\n[research]\nbrowser = false\n'
        )


@contextmanager
def market_world(folder: Path, theme: str = "スマートシティ") -> Generator[MarketWorld]:
    """A world in a folder."""
    with MarketWeb() as web:
        world = MarketWorld(folder, web, MarketModel(theme))
        with world.model:
            world.write_settings(world.settings())
            yield world
