"""The one way out of a cage's network: a listening socket, made inside, that only the host accepts from.

A socket belongs to the network namespace it was made in, whoever holds it. init makes it before the kernel may run,
hands it to the host and forgets it: no process in the cage can read, answer or close what goes through.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct

ADDRESS = "127.0.0.1"
# SIOCSIFFLAGS, SIOCGIFFLAGS, IFF_UP. A new network namespace has loopback, switched off.
_SET_FLAGS, _GET_FLAGS, _IS_UP = 0x8914, 0x8913, 1
_INTERFACE = struct.Struct("16sh14x")
_BACKLOG = 64


def open_listener(port: int) -> socket.socket:
    """Loopback switched on, and a socket that listens there. Needs the rights of the namespace's init."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        _switch_on_loopback(listener)
        listener.bind((ADDRESS, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _switch_on_loopback(any_socket: socket.socket) -> None:
    request = bytearray(_INTERFACE.pack(b"lo", 0))
    fcntl.ioctl(any_socket, _GET_FLAGS, request)
    _, flags = _INTERFACE.unpack(request)
    fcntl.ioctl(any_socket, _SET_FLAGS, _INTERFACE.pack(b"lo", flags | _IS_UP))


def adopt(descriptor: int, port: int) -> socket.socket | None:
    """The listener that a cage handed over; None, and it is closed, if it is something else."""
    try:
        candidate = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        return None
    if not is_listener(candidate, port):
        candidate.close()
        return None
    candidate.setblocking(False)
    return candidate


def is_listener(candidate: socket.socket, port: int) -> bool:
    """Whether this is such a socket, and of another network than ours; what a cage hands over is not believed."""
    try:
        return (
            candidate.family == socket.AF_INET
            and candidate.type == socket.SOCK_STREAM
            and candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
            and candidate.getsockname() == (ADDRESS, port)
            and _network_of(candidate) != _our_network()
        )
    except OSError:
        return False


# SO_NETNS_COOKIE. A socket of ours handed over as the cage's own would let it accept for us.
_NETWORK_COOKIE = 71


def _network_of(any_socket: socket.socket) -> bytes:
    """A number for the network namespace of a socket, unique until the machine is started again."""
    return any_socket.getsockopt(socket.SOL_SOCKET, _NETWORK_COOKIE, 8)


def _our_network() -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as ours:
        return _network_of(ours)
