"""A process of the host that the attacks are after: it holds the secret in every place a process can hold one.

Run as a script with its orders as JSON in the first argument and the secret in its environment and in its second
argument. It tells on stdout where everything is, then serves until its stdin closes.
"""

import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER_AND_UTS = 0x14000000
LIFETIME_SECONDS = 60


def drop_to(uid: int) -> None:
    """Become the plain user the attack runs as, and stay as open to it as any process of that user is."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def open_vault(secret: bytes) -> int:
    """A child in a user namespace of its own, whose hostname is the secret. 0 where such namespaces are refused."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
        made = LIBC.unshare(NEW_USER_AND_UTS) == 0 and LIBC.sethostname(secret, len(secret)) == 0
        LIBC.prctl(4, 1, 0, 0, 0)
        os.write(writer, b"1" if made else b"0")
        time.sleep(LIFETIME_SECONDS)
        os._exit(0)
    return child if os.read(reader, 1) == b"1" else 0


def hide_key(name: str, secret: bytes) -> int:
    """The secret as a key of this user, readable by every process of it; it goes by itself after a minute."""
    add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    key = LIBC.syscall(add_key, b"user", name.encode(), secret, len(secret), -4)
    LIBC.syscall(keyctl, 5, key, 0x3F3F0000)
    LIBC.syscall(keyctl, 15, key, LIFETIME_SECONDS)
    return key


def share_memory(secret: bytes) -> int:
    """A System V segment with the secret in it; it goes with the last process that has it."""
    LIBC.shmat.restype = ctypes.c_void_p
    segment = LIBC.shmget(0, 4096, 0o1600)
    ctypes.memmove(LIBC.shmat(segment, None, 0), secret, len(secret))
    LIBC.shmctl(segment, 0, None)  # IPC_RMID
    return segment


def fill_queues(name: str, secret: bytes) -> int:
    """The secret as a message in a System V and in a POSIX queue; whoever started us removes both."""
    queue = LIBC.msgget(0, 0o1600)
    message = struct.pack("l", 1) + secret
    LIBC.msgsnd(queue, message, len(secret), 0)
    shape = struct.pack("8l", 0, 1, 64, 0, 0, 0, 0, 0)
    posix = LIBC.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o600, shape)
    LIBC.mq_send(posix, secret, len(secret), 0)
    return queue


def listen(orders: dict[str, Any]) -> dict[str, socket.socket]:
    doors = {
        "tcp": socket.create_server(("127.0.0.1", 0)),
        "tcp6": socket.create_server(("::1", 0), family=socket.AF_INET6),
        "unix": socket.socket(socket.AF_UNIX),
        "abstract": socket.socket(socket.AF_UNIX),
        "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    }
    doors["unix"].bind(orders["unix_socket"])
    doors["abstract"].bind("\0" + orders["abstract_name"])
    doors["udp"].bind(("127.0.0.1", 0))
    for name in ("unix", "abstract"):
        doors[name].listen()
    return doors


def serve(doors: dict[str, socket.socket], secret: bytes) -> None:
    """Hand the secret to whoever comes, as a local service trusting its machine would; write down each visit."""
    names = {door.fileno(): name for name, door in doors.items()}
    while True:
        ready = select.select([0, *names], [], [], LIFETIME_SECONDS)[0]
        if not ready or 0 in ready:
            return
        for fd in ready:
            name = names[fd]
            if name == "udp":
                asked, sender = doors[name].recvfrom(512)
                doors[name].sendto(answer_dns(asked, secret), sender)
                heard = f"udp {asked[:16]!r}"
            else:
                visitor, _ = doors[name].accept()
                with visitor:
                    visitor.sendall(secret)
                heard = name
            tell({"heard": heard})


def answer_dns(query: bytes, secret: bytes) -> bytes:
    record = struct.pack(">HHHIHB", 0xC00C, 16, 1, 0, len(secret) + 1, len(secret)) + secret
    return query[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0) + query[12:] + record


def tell(fact: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


def main() -> None:
    orders = json.loads(sys.argv[1])
    secret = os.environ["HOSTILE_SUITE_TOKEN"].encode()
    drop_to(orders["uid"])
    os.chdir(orders["home"])
    LIBC.prctl(15, orders["victim_name"].encode(), 0, 0, 0)  # PR_SET_NAME
    in_memory = ctypes.create_string_buffer(secret, 64)
    scratch = ctypes.create_string_buffer(b"untouched", 16)
    with tempfile.TemporaryFile(dir=orders["home"]) as unlinked:
        unlinked.write(secret)
        unlinked.flush()
        doors = listen(orders)
        key = hide_key(orders["key_name"], secret)
        tell({
            "victim_pid": os.getpid(),
            "vault_pid": open_vault(secret),
            "victim_address": ctypes.addressof(in_memory),
            "victim_scratch_address": ctypes.addressof(scratch),
            "victim_fd": unlinked.fileno(),
            "segment": share_memory(secret),
            "queue": fill_queues(orders["posix_queue"], secret),
            "tcp_port": doors["tcp"].getsockname()[1],
            "tcp6_port": doors["tcp6"].getsockname()[1],
            "udp_port": doors["udp"].getsockname()[1],
        })  # fmt: skip
        serve(doors, secret)
        keyctl = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
        LIBC.syscall(keyctl, 21, key)
        tell({"scratch": scratch.value.decode("utf-8", "replace")})


if __name__ == "__main__":
    main()
