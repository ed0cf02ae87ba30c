"""The listener that the launcher hands to the assistant outside."""

import socket

import pytest

from localllm.sandbox.launcher import listener


def test_who_connects_before_it_is_served_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "PORT", 0)  # any free one: the usual one is of a network of the command's own
    ours, theirs = socket.socketpair()
    with ours:
        listener.hand_out(theirs.detach())
        said, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
        assert ours.recv(1) == b"", "the launcher has closed its end"
    assert said == b"here"
    with socket.socket(fileno=descriptors[0]) as handed, socket.create_connection(handed.getsockname()) as command:
        command.sendall(b"hello")
        connection, _ = handed.accept()
        with connection:
            assert connection.recv(5) == b"hello"
