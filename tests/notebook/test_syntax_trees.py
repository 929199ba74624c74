"""Syntax trees from several threads: CPython trips over them, we do not."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import ast, gc, sys, threading, time
if sys.argv[1] == "ours":
    import cellwright.notebook.marimo_graph
from marimo._ast.compiler import module_compile
gc.callbacks.append(lambda *_: time.sleep(0.0005))
gc.set_threshold(50)
failed = []
def parse(parser):
    for number in range(20):
        try:
            parser("x = " + "(1 + " * 40 + "1" + ")" * 40 + "\\n" + "y = [1, 2, 3]\\n" * 40)
        except SystemError as error:
            failed.append(str(error))
threads = [threading.Thread(target=parse, args=[parser]) for parser in (ast.parse, module_compile) * 2]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(failed), failed[:1])
"""


def run(whose: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, whose], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_trees_of_several_threads_are_made_in_turn() -> None:
    assert run("ours") == "0 []"
