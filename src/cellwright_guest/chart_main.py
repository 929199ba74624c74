"""The program in the cage that draws charts: specifications on descriptor 3, pictures back, then it is gone.

`python -I -S chart_main.py PACKAGE FONTS`. A painter draws them one by one and another process watches it: a chart that
takes too long, or takes its painter down, costs itself only. The next painter goes on with the one after it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import socket
import sys
import time
from multiprocessing.connection import Connection, Pipe
from typing import Any, Final

_DESCRIPTOR: Final = 3
_VERSION: Final = "6.4"
_START_TIMEOUT_SECONDS: Final = 20.0
_MOST_BYTES: Final = 2 << 20
"""Limit of the size of one picture; some 8,000 points."""
_MOST_BYTES_TOGETHER: Final = 32 << 20
_MEMORY_BYTES: Final = 768 << 20
"""Memory limit of a painter: below the cage's, so that a chart which needs more ends its painter and not the cage."""
_MORE_ADDRESSES_BYTES: Final = 2 << 30
_OWN: Final = ["data:"]
"""The only addresses that are followed: data that the specification holds itself."""
_MEASURED: Final = "DejaVu Sans"
_SHOWN: Final = "Arial, Helvetica, DejaVu Sans, sans-serif"
"""Nobody knows which letters a reader has: room is left for the widest of the usual ones, which come with matplotlib.
So a chart is the same picture wherever it is drawn."""
_TASTE: Final = {
    "aria": False,
    "font": _MEASURED,
    "padding": 14,
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 240, "labelSeparation": 10},
    "axisX": {"labelOverlap": "parity"},
    "axisY": {"titlePadding": 8},
    "header": {"labelFontSize": 12, "titleFontSize": 12},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 240},
    "title": {"anchor": "start", "fontSize": 15, "subtitleFontSize": 13, "offset": 12},
}
"""Where a specification has none of its own."""
_FIRST: Final = '{"mark": "point", "data": {"values": [{}]}}'


def main() -> None:
    """Answer, and end."""
    with socket.socket(fileno=_DESCRIPTOR) as host, host.makefile("rb") as reading:
        asked = json.loads(reading.read())
        package, fonts = sys.argv[1:]
        times = {"chart_seconds": asked["chart_seconds"], "seconds": asked["seconds"]}
        pictures = draw(asked["specs"], package=package, fonts=fonts, **times)
        host.sendall(json.dumps(pictures).encode())


def draw(specs: list[str], *, package: str, fonts: str, chart_seconds: float, seconds: float) -> list[str | None]:
    """A picture for each, as SVG; None for what cannot be drawn, or not in time."""
    until, room = time.monotonic() + seconds, _MOST_BYTES_TOGETHER
    pictures: list[str | None] = []
    while len(pictures) < len(specs) and time.monotonic() < until:
        painter = _Painter(specs[len(pictures) :], package, fonts)
        is_well = painter.next(_START_TIMEOUT_SECONDS) is not None
        if not is_well:
            break
        while is_well and len(pictures) < len(specs):
            picture = painter.next(min(chart_seconds, until - time.monotonic()))
            is_well = picture is not None
            room -= len(picture or b"")
            pictures.append(picture.decode() if picture and room >= 0 else None)
        painter.end()
    return pictures + [None] * (len(specs) - len(pictures))


class _Painter:
    """A process that draws one chart after another."""

    def __init__(self, specs: list[str], package: str, fonts: str) -> None:
        self._pictures, easel = Pipe(duplex=False)
        self._pid = os.fork()
        if self._pid == 0:
            _paint(specs, package, fonts, easel)
        easel.close()

    def next(self, seconds: float) -> bytes | None:
        """The next picture; empty if it could not be drawn. None: there will be no more."""
        try:
            if self._pictures.poll(max(seconds, 0)):
                return self._pictures.recv_bytes(_MOST_BYTES)
        except (EOFError, OSError):
            pass
        return None

    def end(self) -> None:
        """It is gone, whatever it was at."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._pictures.close()


def _paint(specs: list[str], package: str, fonts: str, easel: Connection) -> None:
    """Ends the process. First something of our own: V8 reserves much more than it uses, and is then held to that."""
    try:
        _load(package)
        import vl_convert

        vl_convert.register_font_directory(fonts)
        easel.send_bytes(_svg(_FIRST)[:1])
        _hold()
        for spec in specs:
            easel.send_bytes(_svg(spec))
    finally:
        os._exit(0)


def _load(package: str) -> None:
    """Import it from where it lies: what stands beside it cannot be listed in every cage, so it would not be found."""
    spec = importlib.util.spec_from_file_location("vl_convert", f"{package}/__init__.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def _svg(spec: str) -> bytes:
    import vl_convert

    kind: dict[str, Any] = {"allowed_base_urls": _OWN}
    try:
        if "/schema/vega/" in spec[:_MOST_BYTES].partition('"$schema"')[2][:80]:
            svg = vl_convert.vega_to_svg(spec, **kind)
        else:
            svg = vl_convert.vegalite_to_svg(spec, vl_version=_VERSION, config=_TASTE, **kind)
    except ValueError:
        return b""
    picture = svg.replace(f'font-family="{_MEASURED}"', f'font-family="{_SHOWN}"').encode()
    return picture if len(picture) <= _MOST_BYTES else b""


def _hold() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  plain paths: this runs in a cage
        pages = int(file.read().split()[0])
    addresses = pages * resource.getpagesize() + _MORE_ADDRESSES_BYTES
    for kind, most in ((resource.RLIMIT_AS, addresses), (resource.RLIMIT_DATA, _MEMORY_BYTES)):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
