"""Rows of a Postgres server to a pandas frame in a plain process, as people do it; measured here, imports apart."""

from __future__ import annotations

import asyncio
import resource
import time

from bench.peers.conversation import Answer, converse


async def psycopg_rows(address: str, statement: str) -> Answer:
    """By the driver's binary format, which is the faster one here."""
    import pandas as pd
    import psycopg

    began = time.process_time()
    with psycopg.connect(address) as connection, connection.cursor(binary=True) as cursor:
        cursor.execute(statement.encode())
        frame = pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description or ()])
    return _answer(began, frame.shape)


async def read_sql(address: str, statement: str) -> Answer:
    """By SQLAlchemy and the same driver."""
    import pandas as pd
    import sqlalchemy

    engine = sqlalchemy.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    began = time.process_time()
    frame = pd.read_sql(statement, engine)
    answer = _answer(began, frame.shape)
    engine.dispose()
    return answer


def _answer(began: float, shape: tuple[int, int]) -> Answer:
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu_ms": seconds * 1e3, "mb": peak, "rows": shape[0], "columns": shape[1]}


if __name__ == "__main__":
    asyncio.run(converse({"psycopg_rows": psycopg_rows, "read_sql": read_sql}))
