"""What a host must not be: it believes the length it is told, keeps what it is sent, and unpickles it.

Run as a script with its socket's descriptor number as the argument. It lives as long as nothing upsets it, and
stands in for the host in the controls of the attacks on the host's socket.
"""

import os
import pickle  # noqa: TID251 the mistake this process is here to make
import resource
import socket
import struct
import sys

HEADER = struct.Struct("<IB")
ROOM_BYTES = 64 << 20


def read_exactly(stream: socket.socket, size: int) -> bytes:
    whole = bytearray(size)
    view = memoryview(whole)
    while view:
        count = stream.recv_into(view)
        if count == 0:
            raise EOFError("the kernel hung up in the middle of a frame")
        view = view[count:]
    return bytes(whole)


def main() -> None:
    stream = socket.socket(fileno=int(sys.argv[1]))
    uid = int(sys.argv[2])
    if os.geteuid() == 0:
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    resource.setrlimit(resource.RLIMIT_DATA, (ROOM_BYTES, ROOM_BYTES))
    kept: list[object] = []
    while stream.recv(1, socket.MSG_PEEK):
        size, lane = HEADER.unpack(read_exactly(stream, HEADER.size))
        body = read_exactly(stream, size)
        kept.append(body if b"Noise" in body[:16] else pickle.loads(body))
        if lane > 1:
            raise ValueError(f"no lane {lane}")


if __name__ == "__main__":
    main()
