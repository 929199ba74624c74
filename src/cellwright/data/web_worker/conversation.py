"""What the broker says to a web worker and hears of it: sockets to serve, requests to record, exchanges that ended."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, Literal

import anyio
from anyio.abc import TaskGroup, UNIXSocketStream

from cellwright.data.descriptor_frames import receive_frame, send_frame
from cellwright.data.exchanges.api_rules import ApiRules
from cellwright.data.exchanges.masked_stream import MaskedStream
from cellwright.data.exchanges.s3_rules import S3Rules
from cellwright.data.web_worker.client_line import ClientLine
from cellwright.data.web_worker.exchange import Exchange, ExchangeLimits, ExchangeRecord
from cellwright.data.web_worker.trial import TrialFailed, try_api, try_s3
from cellwright.data.web_worker.upstream import Upstream, UpstreamFailed
from cellwright.errors import UserError
from cellwright.framing import BadFrame
from cellwright.network import NetworkSettings

logger = logging.getLogger(__name__)
_OVER: Final = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, BadFrame)


class WebConversation:
    """From the broker's first frame to its end, which is the process's."""

    def __init__(self, stream: UNIXSocketStream) -> None:
        self._stream = stream
        self._sending = anyio.Lock()
        self._recorded = dict[int, anyio.Event]()
        self._rules: S3Rules | ApiRules
        self._upstream: Upstream
        self._limits: ExchangeLimits

    async def hold(self) -> None:
        """Serve until the broker hangs up."""
        try:
            opening, _ = await receive_frame(self._stream)
            if not await self._open(opening):
                return
            async with anyio.create_task_group() as tasks:
                while True:
                    message, descriptor = await receive_frame(self._stream)
                    self._heed(message, descriptor, tasks)
        except* _OVER:
            pass

    async def _open(self, opening: Mapping[str, Any]) -> bool:
        options, secret = opening["options"], str(opening["secret"])
        try:
            if any(not " " <= each <= "~" for each in secret):
                raise UpstreamFailed("login", "the secret has characters in it that no header can have")
            if (is_s3 := opening["source"] == "s3") and not secret:
                raise UpstreamFailed("login", "no secret access key is kept")
            self._rules = S3Rules.of(options, secret) if is_s3 else ApiRules.of(opening["name"], options, secret)
            network = NetworkSettings.of(opening["network"])
            self._upstream = Upstream(self._rules.address, network, options.get("tls_ca", ""))
            self._limits = ExchangeLimits(megabytes=opening["megabytes"], seconds=opening["seconds"])
        except UpstreamFailed as failed:
            await self._send({"kind": "failed", "failure": failed.kind, "why": failed.why, "hint": ""})
            return False
        except UserError as problem:
            told = {"failure": "statement", "why": problem.message, "hint": problem.hint}
            await self._send({"kind": "failed", **told})
            return False
        await self._send({"kind": "opened"})
        return True

    def _heed(self, message: Mapping[str, Any], descriptor: int, tasks: TaskGroup) -> None:
        match message:
            case {"kind": "exchange", "id": int(number)} if descriptor >= 0:
                tasks.start_soon(self._serve, number, socket.socket(fileno=descriptor))
            case {"kind": "recorded", "id": int(number)}:
                if (event := self._recorded.pop(number, None)) is not None:
                    event.set()
            case {"kind": "try", "id": int(number)}:
                tasks.start_soon(self._try, number)
            case _:
                raise BadFrame("no word of a broker")

    async def _serve(self, number: int, connection: socket.socket) -> None:
        began = time.monotonic()
        line = ClientLine(connection)

        async def begin(shown: str, access: Literal["read", "write"]) -> None:
            recorded = self._recorded[number] = anyio.Event()
            await self._send({"kind": "begun", "id": number, "statement": shown, "access": access})
            await recorded.wait()

        exchange = Exchange(
            line=line,
            rules=self._rules,
            upstream=self._upstream,
            limits=self._limits,
            begin=begin,
            masks_answers=isinstance(self._rules, ApiRules),
        )
        try:
            record = await exchange.run()
        except Exception as error:
            # Whatever a server or a client made of us: the other exchanges go on.
            logger.exception("an exchange failed")
            record = ExchangeRecord(outcome="failed", why=f"The worker failed ({type(error).__name__}).")
        finally:
            line.close()
            self._recorded.pop(number, None)
        seconds = round(time.monotonic() - began, 3)
        await self._send({"kind": "ended", "id": number, "seconds": seconds, **asdict(record)})

    async def _try(self, number: int) -> None:
        rules, upstream = self._rules, self._upstream
        try:
            server = await (try_s3(rules, upstream) if isinstance(rules, S3Rules) else try_api(rules, upstream))
        except TrialFailed as failed:
            told = {"failure": failed.kind, "why": failed.why, "hint": failed.hint}
            await self._send({"kind": "tried", "id": number, **{key: self._masked(text) for key, text in told.items()}})
            return
        await self._send({"kind": "tried", "id": number, "server": self._masked(server)})

    def _masked(self, text: str) -> str:
        return MaskedStream(self._rules.hidden).whole(text.encode()).decode("utf-8", "replace")

    async def _send(self, message: Mapping[str, Any]) -> None:
        async with self._sending:
            await send_frame(self._stream, message)
