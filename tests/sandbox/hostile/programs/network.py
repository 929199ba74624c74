"""Attacks through sockets: services of the host, the network, and families nobody needs in a notebook."""

import socket
import struct
from pathlib import Path

from .prelude import NEW_NET, Targets, as_namespace_root, expose, refuse

AF_PACKET, AF_NETLINK, AF_VSOCK = 17, 16, 40


def connect_tcp(targets: Targets) -> str:
    with socket.create_connection(("127.0.0.1", targets["tcp_port"]), timeout=2) as stream:
        return expose(stream.recv(64), targets)


def connect_tcp_over_ipv6(targets: Targets) -> str:
    with socket.create_connection(("::1", targets["tcp6_port"]), timeout=2) as stream:
        return expose(stream.recv(64), targets)


def send_udp(targets: Targets) -> str:
    """One way out is enough to leak: judged by what the host heard."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"exfiltrated", ("127.0.0.1", targets["udp_port"]))
    return "sent a datagram"


def ask_dns(targets: Targets) -> str:
    """A real query to a name server of the host, which answers with the secret in a TXT record."""
    question = b"".join(bytes([len(part)]) + part for part in (b"secret", b"test")) + b"\0"
    query = struct.pack(">6H", 0x4357, 0x0100, 1, 0, 0, 0) + question + struct.pack(">2H", 16, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.settimeout(2)
        datagram.sendto(query, ("127.0.0.1", targets["udp_port"]))
        return expose(datagram.recv(512), targets)


def connect_unix_socket(targets: Targets) -> str:
    return talk_unix(targets["unix_socket"], targets)


def connect_unix_socket_through_symlink(targets: Targets) -> str:
    link = Path(targets["project"], "sock")
    link.symlink_to(targets["unix_socket"])
    return talk_unix(str(link), targets)


def connect_abstract_socket(targets: Targets) -> str:
    return talk_unix("\0" + targets["abstract_name"], targets)


def talk_unix(address: str, targets: Targets) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(2)
        stream.connect(address)
        return expose(stream.recv(64), targets)


def list_interfaces_by_netlink(_: Targets) -> str:
    with socket.socket(AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.settimeout(2)
        get_link, request_dump = 18, 0x301
        netlink.send(struct.pack("=IHHII", 32, get_link, request_dump, 1, 0) + bytes(16))
        return f"netlink answered {len(netlink.recv(65536))} bytes"


def list_host_sockets_by_netlink(targets: Targets) -> str:
    """NETLINK_SOCK_DIAG lists every listening port of a network namespace."""
    with socket.socket(AF_NETLINK, socket.SOCK_RAW, 4) as netlink:
        netlink.settimeout(2)
        by_family, request_dump, listening = 20, 0x301, 1 << 10
        body = struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 0, listening) + bytes(48)
        netlink.send(struct.pack("=IHHII", 16 + len(body), by_family, request_dump, 1, 0) + body)
        answer = netlink.recv(1 << 20)
    if struct.pack(">H", targets["tcp_port"]) not in answer:
        raise refuse("the host's port is not listed")
    return "found the host's listening port"


def list_host_ports_in_proc(targets: Targets) -> str:
    if f":{targets['tcp_port']:04X} " not in Path("/proc/net/tcp").read_text("ascii"):
        raise refuse("the host's port is not listed")
    return "found the host's listening port"


def open_packet_socket(_: Targets) -> str:
    return as_namespace_root(NEW_NET, lambda: open_socket(AF_PACKET, socket.SOCK_RAW, 0))


def open_raw_socket(_: Targets) -> str:
    return as_namespace_root(NEW_NET, lambda: open_socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))


def open_vsock_socket(_: Targets) -> str:
    return open_socket(AF_VSOCK, socket.SOCK_STREAM, 0)


def open_socket(family: int, kind: int, protocol: int) -> str:
    with socket.socket(family, kind, protocol):
        return f"opened a socket of family {family}"
