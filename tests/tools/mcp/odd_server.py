"""A tool server for tests, of the older era, in plain Python: its tools are what `tools.json` beside it says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).with_name("tools.json")
JUNK = "x" * (1 << 16)


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def call(number: Any, name: str, given: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "echo":
            with Path("/project/calls.txt").open("a") as log:
                log.write("called\n")
            return text(f"echo {given['words']}")
        case "hides":
            Path("/project/hidden.txt").write_text("hidden")
            return text("hidden")
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "read":
            try:
                return text(Path(given["path"]).read_text()[:2000])
            except OSError as error:
                return {**text(f"{error}"), "isError": True}
        case "search":
            found = {"results": [{"url": "https://a.example/1", "title": given["query"], "content": "Mills."}]}
            return text(json.dumps(found))
        case "tells":
            return text(f"For {given['query']}:\n- Mills (https://b.example/2), and https://b.example/3.")
        case "huge":
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"')
            for _ in range(1600):
                sys.stdout.write(JUNK)
            sys.stdout.write('"}]}}\n')
            return None
        case "endless":
            while True:
                say({"method": "notifications/message", "params": {"level": "info", "data": JUNK}})
        case "silent":
            return None
        case "dies":
            sys.stderr.write("out of cheese")
            sys.stderr.flush()
            os._exit(7)
        case "asks":
            say({"id": "q1", "method": "elicitation/create", "params": ASKED})
            answer = json.loads(sys.stdin.readline())["result"]
            if answer["action"] != "accept":
                return text(f"not told: {answer['action']}")
            return text(f"hello {answer['content']['name']}")
        case "samples":
            asked = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}
            say({"id": "s1", "method": "sampling/createMessage", "params": asked})
            return text("sampled: " + ("error" if "error" in json.loads(sys.stdin.readline()) else "yes"))
        case _:
            return text(f"no {name}")


ASKED = {
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Your name"}},
        "required": ["name"],
    },
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            able: dict[str, Any] = {"tools": {}, "resources": {}}
            about = {"name": "odd", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": about}
        case "tools/list":
            return {"tools": json.loads(TOOLS.read_text())}
        case "tools/call":
            return call(message["id"], params["name"], params.get("arguments") or {})
        case "resources/list":
            return {"resources": [{"uri": "odd://guide", "name": "guide"}]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "Birds are counted\u200b at dawn."}]}
        case _:
            return None


def main() -> None:
    sys.stdout.write("Odd server starting\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message or "id" not in message:
            continue
        known = {"initialize", "tools/list", "tools/call", "resources/list", "resources/read"}
        if message["method"] not in known:
            say({"id": message["id"], "error": {"code": -32601, "message": "not here"}})
        elif (result := answer(message)) is not None:
            say({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
