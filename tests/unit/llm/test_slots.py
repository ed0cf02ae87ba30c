"""How many requests a server answers at the same time, as far as it tells."""

import pytest

from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.openai_models import told_by_props
from tests.support.wire_server import cassette


@pytest.mark.parametrize(("body", "slots"), [(b"".join(cassette("llamacpp/get_props").pieces), 2), (b"{}", 0)])
def test_what_llama_cpp_tells(body: bytes, slots: int) -> None:
    assert told_by_props(body, ModelInfo("m")).slots == slots
