"""What a kernel's host answers for connections in tests."""

from __future__ import annotations

import json
import os

import anyio

from cellwright.errors import UserError
from cellwright.kernel.process.host_calls import ServiceAnswer
from tests.cells.duck_source import DuckSource, Refused


class DataService:
    """The host's service for connections, answered by a real database."""

    def __init__(self) -> None:
        self.source = DuckSource()
        self.begun = anyio.Event()
        self.cancelled = anyio.Event()
        self.has_large_schemas = False

    async def __call__(self, body: bytes) -> ServiceAnswer:
        request = json.loads(body)
        if "forever" in str(request):
            self.begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        try:
            reply, descriptors = self.source.answer(request)
        except Refused as refusal:
            raise UserError(str(refusal), hint="") from refusal
        body = json.dumps(reply).encode()
        if self.has_large_schemas and reply["kind"] == "schema":
            descriptors = (os.memfd_create("schema", os.MFD_CLOEXEC),)
            os.write(descriptors[0], body)
            os.lseek(descriptors[0], 0, os.SEEK_SET)
            body = json.dumps({"kind": "schema", "descriptors": 1}).encode()
        return ServiceAnswer(body=body, descriptors=descriptors)
