"""What a notebook may hold when somebody branches it: libraries that were used, things that are open, work that waits.

Each case prepares a parent that has USED the thing, names a candidate cell to try, and a look at the parent that
says the same before and after any branch. Nothing printed or kept holds an address or a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

WayKind = Literal["fork", "carried", "replayed"]
FORK: frozenset[WayKind] = frozenset({"fork"})
NO_FORK: frozenset[WayKind] = frozenset({"carried", "replayed"})
EITHER: frozenset[WayKind] = FORK | NO_FORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing a parent may hold."""

    cells: tuple[str, ...]
    """What the parent has run."""
    candidate: str
    look: str
    """A cell of the parent that defines nothing and changes nothing; it prints what must stay as it is."""
    ways: frozenset[WayKind] = FORK
    """How a branch of it may come about."""
    needs_network: bool = False
    packages: tuple[str, ...] = ()
    """What our own environment has not: the notebook asks for an environment of its own."""
    is_noisy: bool = False
    """Helper processes of the library complain whenever they like: of the console only lines of figures count."""


def case(
    *cells: str,
    candidate: str,
    look: str,
    ways: frozenset[WayKind] = FORK,
    needs_network: bool = False,
    packages: tuple[str, ...] = (),
    is_noisy: bool = False,
) -> Case:
    texts = tuple(dedent(cell).strip() for cell in cells)
    return Case(
        cells=texts,
        candidate=dedent(candidate).strip(),
        look=f"def _look():\n{_indented(dedent(look).strip())}\n_look()",
        ways=ways,
        needs_network=needs_network,
        packages=packages,
        is_noisy=is_noisy,
    )


def _indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())


LIBRARIES = {
    "numpy": case(
        "import numpy as np, hashlib",
        "matrix = np.arange(160_000, dtype=float).reshape(400, 400) % 97\nfirst = matrix @ matrix",
        candidate="""
            matrix[:, 0] = -1
            product = matrix @ matrix
            answer = (float(product.sum()), float(np.linalg.norm(product)), np.linalg.matrix_rank(matrix))
            print(answer)
        """,
        look="print(hashlib.sha256(matrix.tobytes()).hexdigest(), float((matrix @ matrix).sum()))",
    ),
    "pandas": case(
        "import io, pandas as pd",
        """
        lines = "\\n".join(f"{n},{n % 7},bird {n % 11}" for n in range(20_000))
        frame = pd.read_csv(io.StringIO("n,k,name\\n" + lines))
        per_name = frame.groupby("name").n.sum()
        """,
        candidate="""
            frame["double"] = frame.n * 2
            frame.loc[:10, "n"] = -1
            merged = frame.merge(per_name.rename("total"), left_on="name", right_index=True)
            print(merged.groupby("k").double.mean().to_dict(), merged.total.sum())
        """,
        look="print(frame.shape, int(pd.util.hash_pandas_object(frame).sum()), per_name.to_dict())",
    ),
    "pyarrow": case(
        "import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv, pyarrow.parquet as pq, hashlib",
        """
        pa.set_cpu_count(2)
        table = pa.table({"a": list(range(200_000)), "b": ["x", "y"] * 100_000})
        pq.write_table(table, "birds.parquet")
        counted = pq.read_table("birds.parquet").group_by("b").aggregate([("a", "sum")]).sort_by("b").to_pydict()
        """,
        candidate="""
            again = pq.read_table("birds.parquet", filters=[("a", ">", 100)])
            pq.write_table(again, "birds.parquet")
            sums = again.group_by("b").aggregate([("a", "sum"), ("a", "mean")]).sort_by("b").to_pydict()
            print(sums, pc.sum(again["a"]).as_py(), pq.read_table("birds.parquet").num_rows)
        """,
        look="""
            import pathlib
            print(hashlib.sha256(pathlib.Path("birds.parquet").read_bytes()).hexdigest(), table.num_rows, counted)
        """,
    ),
    "matplotlib": case(
        "import hashlib, io, matplotlib.pyplot as plt",
        "figure, axes = plt.subplots()\naxes.plot([1, 2, 3], [3, 1, 2], label='first')\nfigure.savefig(io.BytesIO())",
        candidate="""
            axes.plot([1, 2, 3], [1, 2, 3], label="second")
            axes.legend()
            drawn = io.BytesIO()
            figure.savefig(drawn, format="png", metadata={"Software": None})
            print(len(axes.lines), hashlib.sha256(drawn.getvalue()).hexdigest())
        """,
        look="""
            drawn = io.BytesIO()
            figure.savefig(drawn, format="png", metadata={"Software": None})
            print(len(axes.lines), plt.get_fignums(), hashlib.sha256(drawn.getvalue()).hexdigest())
        """,
    ),
    "HistGradientBoosting": case(
        "import numpy as np\nfrom sklearn.ensemble import HistGradientBoostingClassifier",
        """
        points = np.random.default_rng(1).normal(size=(400, 3))
        labels = (points[:, 0] + points[:, 1] > 0).astype(int)
        model = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(points, labels)
        """,
        candidate="""
            other = HistGradientBoostingClassifier(max_iter=3, random_state=1).fit(points, labels)
            print(other.score(points, labels), model.predict(points).sum(), other.predict_proba(points[:5]).tolist())
        """,
        look="print(points.sum(), model.score(points, labels), model.n_iter_)",
    ),
    "KMeans": case(
        "import numpy as np\nfrom sklearn.cluster import KMeans",
        """
        points = np.random.default_rng(2).normal(size=(600, 3))
        clusters = KMeans(n_clusters=5, n_init=1, max_iter=5, random_state=0).fit(points)
        """,
        candidate="""
            others = KMeans(n_clusters=3, n_init=1, max_iter=5, random_state=3).fit(points)
            print(round(others.inertia_, 6), np.bincount(others.labels_).tolist(), clusters.predict(points[:9]))
        """,
        look="print(points.sum(), clusters.inertia_, clusters.labels_.sum())",
    ),
    "RandomForest": case(
        "import numpy as np\nfrom sklearn.ensemble import RandomForestRegressor",
        """
        points = np.random.default_rng(3).normal(size=(200, 4))
        heights = points @ [1, 2, 3, 4]
        forest = RandomForestRegressor(n_estimators=4, n_jobs=2, random_state=0).fit(points, heights)
        """,
        candidate="""
            other = RandomForestRegressor(n_estimators=5, n_jobs=2, random_state=1).fit(points, heights)
            print(other.predict(points[:5]).round(9).tolist(), forest.predict(points[:2]).round(9).tolist())
        """,
        look="print(points.sum(), forest.predict(points).sum().round(6), len(forest.estimators_))",
    ),
    "polars eager": case(
        "import polars as pl",
        "frame = pl.DataFrame({'n': range(50_000), 'k': [n % 7 for n in range(50_000)]})\ntotal = frame['n'].sum()",
        candidate="""
            grouped = frame.group_by("k").agg(pl.col("n").mean()).sort("k")
            print(grouped.to_dict(as_series=False), frame.filter(pl.col("n") > 49_990)["n"].to_list())
        """,
        look="print(frame.shape, frame['n'].sum(), total)",
        ways=EITHER,
    ),
    "polars lazy": case(
        "import polars as pl",
        """
        lazy = pl.LazyFrame({"n": range(50_000), "k": [n % 7 for n in range(50_000)]})
        sums = lazy.group_by("k").agg(pl.col("n").sum()).sort("k").collect()
        """,
        candidate="""
            means = lazy.join(sums.lazy(), on="k", how="left").group_by("k").agg(pl.all().mean()).sort("k").collect()
            print(means.to_dict(as_series=False))
        """,
        look="print(sums.to_dict(as_series=False), lazy.select(pl.len()).collect().item())",
        ways=NO_FORK,
    ),
}

DATABASES = {
    "duckdb in memory": case(
        "import duckdb",
        """
        memory = duckdb.connect(config={"threads": 3})
        memory.execute("create table birds as select i, i % 7 as k from range(300000) t(i)")
        count = memory.execute("select count(*), sum(i) from birds").fetchone()
        """,
        candidate="""
            memory.execute("delete from birds where k = 3")
            left = memory.execute("select k, sum(i), count(*) from birds group by k order by k").fetchall()
            print(left, count)
        """,
        look="print(memory.execute('select count(*), sum(i), max(k) from birds').fetchone(), count)",
    ),
    "duckdb in memory, closed by the candidate": case(
        "import duckdb",
        """
        memory = duckdb.connect(config={"threads": 3})
        _ = memory.execute("create table birds as select i, i % 7 as k from range(300000) t(i)")
        """,
        candidate="""
            counted = memory.execute("select count(*) from birds").fetchall()
            memory.close()
            print(counted, "closed")
        """,
        look="print(memory.execute('select count(*), sum(i), max(k) from birds').fetchone())",
        ways=EITHER,
    ),
    "duckdb in a file": case(
        "import duckdb",
        """
        stored = duckdb.connect("birds.duckdb")
        stored.execute("create or replace table birds as select i, i % 7 as k from range(30000) t(i)")
        count = stored.execute("select count(*), sum(i) from birds").fetchone()
        """,
        candidate="""
            stored.execute("insert into birds values (-1, 9)")
            print(stored.execute("select k, sum(i) from birds group by k order by k").fetchall(), count)
        """,
        look="print(stored.execute('select count(*), sum(i), max(k) from birds').fetchone(), count)",
        ways=NO_FORK,
    ),
    "sqlite, committed": case(
        "import sqlite3",
        """
        stored = sqlite3.connect("birds.sqlite")
        stored.execute("create table if not exists birds (i integer primary key, k)")
        stored.executemany("insert or replace into birds values (?, ?)", [(n, n % 7) for n in range(2000)])
        stored.commit()
        """,
        candidate="""
            stored.execute("delete from birds where k = 3")
            stored.commit()
            print(stored.execute("select count(*), sum(i) from birds").fetchone(), stored.total_changes)
        """,
        look="""
            print(stored.execute("pragma integrity_check").fetchall(), stored.in_transaction)
            print(stored.execute("select count(*), sum(i) from birds").fetchone())
        """,
        ways=NO_FORK,
    ),
    "sqlite, a transaction open": case(
        "import sqlite3",
        """
        stored = sqlite3.connect("birds.sqlite")
        stored.execute("create table if not exists birds (i integer primary key, k)")
        stored.commit()
        stored.executemany("insert or replace into birds values (?, ?)", [(n, n % 7) for n in range(2000)])
        print(stored.in_transaction)
        """,
        candidate="""
            stored.execute("insert or replace into birds values (-1, -1)")
            print(stored.execute("select count(*), sum(i) from birds").fetchone(), stored.in_transaction)
            stored.commit()
        """,
        look="""
            other = sqlite3.connect("birds.sqlite")
            print(other.execute("pragma integrity_check").fetchall())
            print(other.execute("select count(*) from birds").fetchall())
            other.close()
            print(stored.in_transaction, stored.execute("select count(*), sum(i) from birds").fetchone())
        """,
        ways=NO_FORK,
    ),
    "sqlite, closed": case(
        "import sqlite3",
        """
        path = "birds.sqlite"
        with sqlite3.connect(path) as writing:
            writing.execute("create table if not exists birds (i integer primary key, k)")
            writing.executemany("insert or replace into birds values (?, ?)", [(n, n % 7) for n in range(2000)])
        writing.close()
        """,
        candidate="""
            with sqlite3.connect(path) as changing:
                changing.execute("delete from birds where k = 3")
                print(changing.execute("select count(*), sum(i) from birds").fetchone())
            changing.close()
        """,
        look="""
            other = sqlite3.connect(path)
            print(other.execute("pragma integrity_check").fetchall())
            print(other.execute("select count(*), sum(i) from birds").fetchall())
            other.close()
        """,
    ),
    "sqlite in memory": case(
        "import sqlite3",
        """
        memory = sqlite3.connect(":memory:")
        memory.execute("create table birds (i integer primary key, k)")
        memory.executemany("insert into birds values (?, ?)", [(n, n % 7) for n in range(2000)])
        """,
        candidate="""
            memory.execute("delete from birds where k = 3")
            print(memory.execute("select count(*), sum(i) from birds").fetchone(), memory.in_transaction)
        """,
        look="print(memory.execute('select count(*), sum(i) from birds').fetchone(), memory.in_transaction)",
    ),
}

NETWORK = {
    "httpx keep-alive": case(
        "import httpx",
        """
        client = httpx.Client(limits=httpx.Limits(max_connections=1, max_keepalive_connections=1))
        first = [client.get(f"{URL}/parent-{n}").text for n in range(3)]
        """,
        candidate="""
            got = [client.get(f"{URL}/{me}-{n}").text for n in range(60)]
            print([n for n in range(60) if got[n] != f"/{me}-{n}"], len(got), first)
            got = len(got)
        """,
        look="print([client.get(f'{URL}/look-{n}').text for n in range(5)], first)",
        needs_network=True,
    ),
    "requests keep-alive": case(
        "import requests",
        """
        session = requests.Session()
        first = [session.get(f"{URL}/parent-{n}").text for n in range(3)]
        """,
        candidate="""
            got = [session.get(f"{URL}/{me}-{n}").text for n in range(60)]
            print([n for n in range(60) if got[n] != f"/{me}-{n}"], len(got), first)
            got = len(got)
        """,
        look="print([session.get(f'{URL}/look-{n}').text for n in range(5)], first)",
        needs_network=True,
    ),
    "an async client bound to the loop": case(
        "import httpx",
        """
        client = httpx.AsyncClient(limits=httpx.Limits(max_connections=1, max_keepalive_connections=1))
        first = [(await client.get(f"{URL}/parent-{n}")).text for n in range(3)]
        """,
        candidate="""
            got = [(await client.get(f"{URL}/{me}-{n}")).text for n in range(40)]
            print([n for n in range(40) if got[n] != f"/{me}-{n}"], len(got), first)
            got = len(got)
        """,
        look="print(first, client.is_closed)",
        ways=EITHER,
        needs_network=True,
    ),
}

WORKERS = {
    "a thread": case(
        "import threading",
        """
        asked, told = threading.Event(), []
        def _listen():
            while True:
                asked.wait()
                asked.clear()
                told.append(len(told))
        worker = threading.Thread(target=_listen, daemon=True)
        worker.start()
        """,
        candidate="""
            before = len(told)
            asked.set()
            while len(told) == before and worker.is_alive():
                pass
            print(worker.is_alive(), len(told) - before)
        """,
        look="print(worker.is_alive(), threading.active_count(), len(told))",
        ways=NO_FORK,
    ),
    "a thread that holds a lock": case(
        "import threading",
        """
        lock, release, has_it = threading.Lock(), threading.Event(), threading.Event()
        def _hold():
            with lock:
                has_it.set()
                release.wait()
        holder = threading.Thread(target=_hold, daemon=True)
        holder.start()
        has_it.wait()
        """,
        candidate="""
            release.set()
            with lock:
                print("had the lock", holder.is_alive() in (True, False))
        """,
        look="print(holder.is_alive(), lock.locked(), release.is_set())",
        ways=NO_FORK,
    ),
    "ThreadPoolExecutor": case(
        "from concurrent.futures import ThreadPoolExecutor",
        "pool = ThreadPoolExecutor(2)\nsquares = list(pool.map(lambda n: n * n, range(50)))",
        candidate="cubes = list(pool.map(lambda n: n ** 3, range(50)))\nprint(sum(cubes), sum(squares))",
        look="print(sum(pool.map(abs, range(20))), len(squares))",
        ways=NO_FORK,
    ),
    "multiprocessing.Pool": case(
        "import multiprocessing",
        "pool = multiprocessing.get_context('fork').Pool(2)\nsquares = pool.map(abs, range(-50, 0))",
        candidate="lengths = pool.map(len, [[0] * n for n in range(20)])\nprint(sum(lengths), sum(squares))",
        look="print(sum(pool.map(abs, range(20))), len(squares))",
        ways=NO_FORK,
    ),
    "loky": case(
        "import joblib, math",
        "roots = joblib.Parallel(n_jobs=2, backend='loky')(joblib.delayed(math.sqrt)(n) for n in range(20))",
        candidate="""
            cubes = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(math.pow)(n, 3) for n in range(20))
            print(sum(cubes), sum(roots))
        """,
        look="""
            summed = sum(joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(abs)(n) for n in range(9)))
            print(summed, len(roots))
        """,
        ways=NO_FORK,
        is_noisy=True,
    ),
    "a new pool in the branch": case(
        "import multiprocessing",
        "numbers = list(range(-50, 0))",
        candidate="""
            with multiprocessing.get_context("fork").Pool(2) as pool:
                made = pool.map(abs, numbers)
            print(sum(made))
        """,
        look="print(sum(numbers), multiprocessing.active_children())",
    ),
    "a child process": case(
        "import subprocess",
        "cat = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)",
        candidate="""
            cat.stdin.write("hello\\n")
            cat.stdin.flush()
            said = cat.stdout.readline()
            print(said)
        """,
        look="print(cat.poll())\ncat.stdin.write('look\\n')\ncat.stdin.flush()\nprint(cat.stdout.readline())",
        ways=NO_FORK,
    ),
    "an unfinished task": case(
        "import asyncio",
        """
        done = []
        async def _later():
            while True:
                await asyncio.sleep(3600)
                done.append(1)
        task = asyncio.ensure_future(_later())
        await asyncio.sleep(0)
        """,
        candidate="""
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                print("cancelled", task.cancelled(), len(done))
        """,
        look="print(task.done(), task.cancelled(), len(done))",
        ways=NO_FORK,
    ),
    "what is bound to the loop": case(
        "import asyncio",
        """
        queue, lock, event = asyncio.Queue(), asyncio.Lock(), asyncio.Event()
        async with lock:
            queue.put_nowait("first")
        """,
        candidate="""
            async def _ask():
                async with lock:
                    return await queue.get()
            _asked = asyncio.ensure_future(_ask())
            answer = await _asked
            try:
                await asyncio.wait_for(event.wait(), 0.01)
            except TimeoutError:
                print(answer, queue.qsize(), await asyncio.to_thread(len, "in a thread"))
        """,
        look="print(queue.qsize(), lock.locked(), event.is_set())",
    ),
}

FILES = {
    "a file that is read": case(
        """
        import pathlib
        _ = pathlib.Path("lines.txt").write_text("".join(f"line {n:05}\\n" for n in range(5000)))
        """,
        "reading = open('lines.txt')\nfirst = [reading.readline() for _ in range(3)]",
        candidate="rest = [reading.readline().strip() for _ in range(1500)]\nprint(rest[0], rest[-1], reading.tell())",
        look="import os\nprint(reading.tell(), os.lseek(reading.fileno(), 0, os.SEEK_CUR), first)",
    ),
    "a raw descriptor that is read": case(
        """
        import os, pathlib
        _ = pathlib.Path("lines.txt").write_text("".join(f"line {n:05}\\n" for n in range(5000)))
        """,
        "reading = os.open('lines.txt', os.O_RDONLY)\nfirst = os.read(reading, 22)",
        candidate="rest = os.read(reading, 1100)\nprint(rest[:10], rest[-10:], os.lseek(reading, 0, os.SEEK_CUR))",
        look="print(os.lseek(reading, 0, os.SEEK_CUR), first)",
    ),
    "a file with an unflushed buffer": case(
        "import os, pathlib",
        "writing = open('written.txt', 'w')\n_ = writing.write('from the parent;')",
        candidate="""
            _ = writing.write("from the candidate;")
            writing.flush()
            print(pathlib.Path("written.txt").read_text(), writing.tell())
        """,
        look="print(repr(pathlib.Path('written.txt').read_text()), os.lseek(writing.fileno(), 0, os.SEEK_CUR))",
    ),
    "a file that is appended to": case(
        "import logging, pathlib",
        """
        log = logging.getLogger("birds")
        log.propagate = False
        log.handlers[:] = [logging.FileHandler("birds.log", mode="w")]
        log.warning("a wren")
        """,
        candidate="log.warning('a robin')\nprint(pathlib.Path('birds.log').read_text())",
        look="print(pathlib.Path('birds.log').read_text(), len(log.handlers))",
    ),
    "a temporary file": case(
        "import os, tempfile",
        "kept = tempfile.NamedTemporaryFile('w+')\n_ = kept.write('from the parent;')\nkept.flush()",
        candidate="""
            _ = kept.write("from the candidate;")
            _ = kept.seek(0)
            print(kept.read(), os.path.exists(kept.name))
        """,
        look="print(repr(open(kept.name).read()), kept.tell(), os.listdir('/tmp') == [os.path.basename(kept.name)])",
    ),
    "a temporary file that the candidate closes": case(
        "import os, tempfile",
        "kept = tempfile.NamedTemporaryFile('w+')\n_ = kept.write('from the parent;')\nkept.flush()",
        candidate="kept.close()\nprint(os.path.exists(kept.name))",
        look="print(repr(open(kept.name).read()), kept.closed)",
    ),
    "a temporary directory": case(
        "import os, tempfile",
        "folder = tempfile.TemporaryDirectory()\n_ = open(folder.name + '/kept.txt', 'w').write('from the parent')",
        candidate="""
            _ = open(folder.name + "/made.txt", "w").write("from the candidate")
            print(sorted(os.listdir(folder.name)))
            folder.cleanup()
            print(os.path.exists(folder.name))
        """,
        look="print(os.listdir(folder.name), open(folder.name + '/kept.txt').read())",
    ),
    "a nameless temporary file": case(
        "import os, tempfile",
        "kept = tempfile.TemporaryFile('w+')\n_ = kept.write('from the parent;')\nkept.flush()",
        candidate="_ = kept.write('from the candidate;')\n_ = kept.seek(0)\nprint(kept.read())",
        look="print(os.fstat(kept.fileno()).st_size, os.lseek(kept.fileno(), 0, os.SEEK_CUR))",
        ways=EITHER,
    ),
    "files of the project": case(
        "import os, pathlib",
        """
        folder = pathlib.Path("made")
        (folder / "below").mkdir(parents=True, exist_ok=True)
        for n in range(20):
            _ = (folder / f"{n}.txt").write_text(f"number {n}")
        (folder / "link").unlink(missing_ok=True)
        (folder / "link").symlink_to("3.txt")
        """,
        candidate="""
            (folder / "1.txt").unlink()
            (folder / "2.txt").rename(folder / "below" / "2.txt")
            _ = (folder / "link").write_text("through the link")
            os.chmod(folder / "4.txt", 0o600)
            os.truncate(folder / "5.txt", 3)
            print({p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()})
        """,
        look="""
            print([(p.name, p.read_text(), oct(p.stat().st_mode)) for p in sorted(folder.rglob("*")) if p.is_file()])
        """,
    ),
    "memory mapped from a file": case(
        "import numpy as np",
        """
        mapped = np.memmap("mapped.bin", dtype="int64", mode="w+", shape=(1000,))
        mapped[:] = range(1000)
        mapped.flush()
        """,
        candidate="""
            mapped[:10] = -1
            mapped.flush()
            print(int(mapped.sum()), np.fromfile("mapped.bin", dtype="int64")[:12].tolist())
        """,
        look="print(int(mapped.sum()), int(np.fromfile('mapped.bin', dtype='int64').sum()))",
        ways=NO_FORK,
    ),
    "shared memory": case(
        "from multiprocessing import shared_memory",
        "shared = shared_memory.SharedMemory(create=True, size=64)\nshared.buf[:6] = b'parent'",
        candidate="shared.buf[:6] = b'branch'\nprint(bytes(shared.buf[:8]))",
        look="print(bytes(shared.buf[:8]))",
        ways=NO_FORK,
    ),
    "a pipe": case(
        "import os",
        "reading, writing = os.pipe()\n_ = os.write(writing, b'from the parent')",
        candidate="got = os.read(reading, 100)\nprint(got)",
        look="import select\nprint(select.select([reading], [], [], 0)[0] == [reading])",
        ways=NO_FORK,
    ),
    "a pipe kept as a pair": case(
        "import os",
        "ends = os.pipe()\n_ = os.write(ends[1], b'from the parent')",
        candidate="got = os.read(ends[0], 100)\nprint(got)",
        look="import select\nprint(select.select([ends[0]], [], [], 0)[0] == [ends[0]])",
        ways=NO_FORK,
    ),
    "an empty pipe": case(
        "import os",
        "reading, writing = os.pipe()\n_ = os.write(writing, b'first')\n_ = os.read(reading, 100)",
        candidate="_ = os.write(writing, b'second')\ngot = os.read(reading, 100)\nprint(got)",
        look="""
            import select
            print(select.select([reading], [], [], 0)[0], select.select([], [writing], [], 0)[1] == [writing])
        """,
        ways=EITHER,
    ),
    "a pair of sockets": case(
        "import socket",
        "here, there = socket.socketpair()\nhere.sendall(b'first')\n_ = there.recv(100)",
        candidate="here.sendall(b'second')\ngot = there.recv(100)\nprint(got)",
        look="""
            there.setblocking(False)
            try:
                print(there.recv(100))
            except BlockingIOError:
                print("nothing")
            there.setblocking(True)
        """,
        ways=EITHER,
    ),
}

STATE = {
    "seeds": case(
        "import random, numpy as np",
        """
        random.seed(7)
        np.random.seed(7)
        own, numpys = random.Random(7), np.random.default_rng(7)
        first = (random.random(), np.random.rand(), own.random(), numpys.random())
        """,
        candidate="""
            drawn = [random.random(), random.randrange(10**9), random.gauss(0, 1), float(np.random.rand()),
                     own.random(), float(numpys.random()), random.sample(range(100), 5),
                     np.random.permutation(5).tolist()]
            print(drawn)
        """,
        look="""
            import hashlib
            states = repr((random.getstate(), own.getstate(), numpys.bit_generator.state)).encode()
            print(hashlib.sha256(states + np.random.get_state()[1].tobytes()).hexdigest(), first)
        """,
    ),
    "the process itself": case(
        "import os, signal, sys, threading, contextvars",
        """
        os.makedirs("deep/down", exist_ok=True)
        os.environ["BIRD"] = "wren"
        sys.setrecursionlimit(1234)
        caught = []
        _ = signal.signal(signal.SIGUSR1, lambda *_: caught.append("usr1"))
        local, variable = threading.local(), contextvars.ContextVar("bird", default="robin")
        local.bird = "wren"
        counting = (n * n for n in range(100))
        taken = [next(counting) for _ in range(3)]
        """,
        candidate="""
            os.kill(os.getpid(), signal.SIGUSR1)
            os.environ["BIRD"] = "robin"
            print(caught, os.environ["BIRD"], os.getcwd(), os.umask(0o022), local.bird, variable.get(), next(counting))
        """,
        look="print(os.getcwd(), os.environ['BIRD'], sys.getrecursionlimit(), caught, local.bird, taken)",
    ),
    "the folder it works in": case(
        "import os",
        "os.makedirs('deep/down', exist_ok=True)\nos.chdir('/project/deep/down')\nhere = os.open('.', os.O_RDONLY)",
        candidate="""
            _ = open("made.txt", "w").write("from the candidate")
            print(os.getcwd(), os.listdir(here), os.listdir("/project/deep"))
        """,
        look="print(os.getcwd(), os.listdir(here), os.listdir('.'))",
    ),
    "a failing candidate": case(
        "import json",
        "numbers = {'a': [1, 2, 3]}",
        candidate="numbers['a'].append(4)\nprint(numbers)\nbroken = json.loads('{')",
        look="print(numbers)",
    ),
    "widgets and state": case(
        "import marimo as mo",
        "slider = mo.ui.slider(1, 10, value=3)\nget_bird, set_bird = mo.state('wren')",
        "doubled = slider.value * 2\nprint(get_bird())",
        candidate="told = (get_bird(), slider.value, doubled)\nprint(told, mo.md('**bold**').text)",
        look="print(slider.value, get_bird(), doubled)",
    ),
}

HEAVY = {
    "xgboost": case(
        "import numpy as np, xgboost",
        """
        points = np.random.default_rng(4).normal(size=(2000, 5))
        labels = (points[:, 0] + points[:, 1] > 0).astype(int)
        model = xgboost.XGBClassifier(n_estimators=8, n_jobs=2, random_state=0).fit(points, labels)
        """,
        candidate="""
            other = xgboost.XGBClassifier(n_estimators=12, n_jobs=2, random_state=1).fit(points, labels)
            print(int(other.predict(points).sum()), other.predict_proba(points[:3]).round(6).tolist())
        """,
        look="print(points.sum(), int(model.predict(points).sum()))",
        ways=EITHER,
        packages=("xgboost", "scikit-learn"),
    ),
    "lightgbm": case(
        "import numpy as np, lightgbm",
        """
        points = np.random.default_rng(5).normal(size=(2000, 5))
        labels = (points[:, 0] + points[:, 1] > 0).astype(int)
        model = lightgbm.LGBMClassifier(n_estimators=8, n_jobs=2, verbose=-1, random_state=0).fit(points, labels)
        """,
        candidate="""
            other = lightgbm.LGBMClassifier(n_estimators=12, n_jobs=2, verbose=-1, random_state=1).fit(points, labels)
            print(int(other.predict(points).sum()), other.booster_.num_trees())
        """,
        look="print(points.sum(), int(model.predict(points).sum()))",
        ways=EITHER,
        packages=("lightgbm", "scikit-learn"),
    ),
    "torch": case(
        "import torch",
        """
        _ = torch.manual_seed(6)
        points = torch.randn(400, 400)
        layer = torch.nn.Linear(400, 10)
        first = float(layer(points).sum())
        """,
        candidate="""
            product = points @ points
            loss = layer(product).pow(2).mean()
            loss.backward()
            print(round(float(product.sum()), 1), float(layer.weight.grad.abs().sum()) > 0, torch.rand(2).tolist())
        """,
        look="print(float(points.sum()), float(layer(points).sum()), layer.weight.grad is None, first)",
        ways=EITHER,
        packages=("torch==2.13.0", "numpy"),
    ),
}

CASES = LIBRARIES | DATABASES | NETWORK | WORKERS | FILES | STATE
