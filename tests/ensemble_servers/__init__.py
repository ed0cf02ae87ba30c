"""Ollama servers on loopback that play the agents of an ensemble.

    with OllamaServers() as servers:
        fast = servers.add(Play(answer="42"))
        slow = servers.add(Play(answer="42", delay=0.3))
        many = servers.add({"small": Play(), "large": Play(answer=lambda body: body["messages"][-1]["content"])})
        ...ask fast.url, slow.url, many.url...
        assert fast.chats[0]["model"] == MODEL

All of them live in one thread with one event loop, so that hundreds cost little. `python -m tests.ensemble_servers`
runs some in a process of their own, for measurements.
"""

from tests.ensemble_servers.play import MODEL, Gate, Play
from tests.ensemble_servers.servers import OllamaServer, OllamaServers

__all__ = ["MODEL", "Gate", "OllamaServer", "OllamaServers", "Play"]
