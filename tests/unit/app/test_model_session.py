"""The connected model: a server that is restarted with another one during a session."""

import json
from pathlib import Path

import pytest

from localllm.base.events import Notice
from tests.support.wire_server import Reply, WireServer, fails, says
from tests.unit.app.test_app import app_over, played, state

__all__ = ["state"]

pytestmark = pytest.mark.anyio


def llama_cpp(name: str, window: int) -> dict[str, Reply]:
    """What llama.cpp's own server tells of its model."""
    models = {"data": [{"id": name, "owned_by": "llamacpp", "meta": {"n_ctx": window, "n_ctx_train": 32_768}}]}
    props = {"total_slots": 1, "default_generation_settings": {"n_ctx": window}, "model_alias": name}
    return {"/v1/models": Reply((json.dumps(models).encode(),)), "/props": Reply((json.dumps(props).encode(),))}


@pytest.mark.parametrize(
    ("chosen", "name", "window", "model", "said"),
    [
        ("", "new", 4_096, "new", "new · 4,096 tokens"),
        ("", "old", 32_768, "old", "old · 32,768 tokens"),
        ("old", "new", 4_096, "old", "does not list"),
        ("", "old", 16_384, "old", ""),
    ],
    ids=["another model", "a larger window", "the user has named one", "as before"],
)
async def test_a_server_that_was_restarted_with_another_model_is_noticed_before_the_next_request(
    tmp_path: Path, chosen: str, name: str, window: int, model: str, said: str
) -> None:
    with WireServer([says("one")], routes=llama_cpp("old", 16_384)) as server:
        async with app_over(tmp_path, server.url, model=chosen) as app:
            app.introduction()
            await played(app, "hello")
            assert (app.model, app.context_window) == ("old", 16_384)
            server.routes |= llama_cpp(name, window)
            second, third = [await played(app, query) for query in ("again", "and again")]
            assert (app.model, app.context_window) == (model, window)
        assert [body["model"] for body in server.bodies()] == ["old", model, model]
    texts = [event.text for event in second if isinstance(event, Notice)]
    assert any(said in text for text in texts) if said else not texts
    assert not [event for event in third if isinstance(event, Notice)]


async def test_a_server_that_is_away_for_a_moment_keeps_its_window(tmp_path: Path) -> None:
    with WireServer([says("one")], routes=llama_cpp("old", 16_384)) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "hello")
            server.routes |= {"/v1/models": fails(503, "Loading model")}
            await played(app, "again")
            assert (app.model, app.context_window) == ("old", 16_384)


async def test_a_restart_is_noticed_after_one_in_whose_window_nothing_had_room(tmp_path: Path) -> None:
    with WireServer([says("one")], routes=llama_cpp("old", 16_384)) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "hello")
            for window, shown in ((256, 256), (16_384, 16_384), (-5, 8_192), (4_096, 4_096)):
                server.routes |= llama_cpp("old", window)
                await played(app, "again")
                assert app.context_window == shown


async def test_a_restart_with_one_model_is_noticed_after_one_with_several(tmp_path: Path) -> None:
    several = {"data": [{"id": "old", "owned_by": "llamacpp"}, {"id": "other", "owned_by": "llamacpp"}]}
    with WireServer([says("one")], routes=llama_cpp("old", 16_384)) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "hello")
            server.routes |= {"/v1/models": Reply((json.dumps(several).encode(),))}
            await played(app, "again")
            server.routes |= llama_cpp("new", 4_096)
            await played(app, "again")
            assert (app.model, app.context_window) == ("new", 4_096)
