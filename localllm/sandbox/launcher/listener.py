"""Create the listener in a command's own network, and send it to the assistant outside. Runs in the launcher."""

import sys

PORT = 3128
"""Where commands find the proxy: on 127.0.0.1, in a network of their own. A common port for proxies."""

_WAITING = 64  # connections not accepted yet


def hand_out(fd: int) -> None:
    """Send a listening socket over the socket `fd`, and close both here. Raises OSError."""
    # Only if commands may reach something; not `socket`, whose import takes longer than everything else here.
    import _socket

    outside, listener = _socket.socket(fileno=fd), _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        listener.bind(("127.0.0.1", PORT))
        listener.listen(_WAITING)
        rights = listener.fileno().to_bytes(4, sys.byteorder)
        outside.sendmsg([b"here"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    finally:
        listener.close()
        outside.close()
