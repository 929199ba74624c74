"""ydata-profiling, timed here: read a file and say all about it, as it does for whoever asks for nothing special."""

from __future__ import annotations

import asyncio
import resource
import time

from bench.peers.conversation import Answer, converse


async def profile(path: str) -> Answer:
    """Milliseconds until the description is there as JSON, and the most memory the process had; no import counts."""
    import pandas as pd
    from ydata_profiling import ProfileReport

    began = time.perf_counter()
    text = ProfileReport(pd.read_csv(path), progress_bar=False).to_json()
    ms = (time.perf_counter() - began) * 1e3
    return {"ms": ms, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "characters": len(text)}


if __name__ == "__main__":
    asyncio.run(converse({"profile": profile}))
