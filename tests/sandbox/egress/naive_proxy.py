"""A proxy that believes everything: every name is this machine, every byte passes. It shows that attacks are live."""

from __future__ import annotations

import re
import select
import socket
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.request.recv(65536)
            if not piece:
                return
            head += piece
        port = re.search(rb":([0-9]+)[ /]", head.partition(b"\r\n")[0])
        assert port is not None
        with socket.create_connection(("127.0.0.1", int(port[1]))) as server:
            if head.startswith(b"CONNECT"):
                self.request.sendall(b"HTTP/1.1 200 Fine\r\n\r\n")
            else:
                server.sendall(head)
            self._pipe(server)

    def _pipe(self, server: socket.socket) -> None:
        others = {self.request: server, server: self.request}
        while True:
            for source in select.select(list(others), [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                others[source].sendall(data)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def naive_proxy() -> Generator[str]:
    """Its address, for as long as the block."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
