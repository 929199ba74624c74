"""smolagents' CodeAgent on one question from standard input; its answer is the last line of standard output."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import Any, Final

_IMPORTS: Final = [
    "pandas", "pandas.*", "numpy", "numpy.*", "scipy", "scipy.*", "pyarrow", "pyarrow.*", "duckdb", "openpyxl",
    "sqlite3", "sklearn", "sklearn.*", "matplotlib", "matplotlib.*", "csv", "json", "pathlib", "glob", "io",
]  # fmt: skip
"""What a notebook of ours can import, and the modules one reads files with; it refuses to start with one that is not
installed."""


def main() -> None:
    """Ask, work, answer."""
    from smolagents import CodeAgent, OpenAIModel

    question: dict[str, Any] = json.load(sys.stdin)
    model = OpenAIModel(model_id=question["model"], api_base=question["base_url"], api_key=question["token"])
    agent: Any = CodeAgent(
        tools=[],
        model=model,
        additional_authorized_imports=[name for name in _IMPORTS if find_spec(name.split(".")[0])],
        executor_kwargs={"additional_functions": {"open": open}},
        max_steps=question["steps"],
        verbosity_level=0,
        return_full_result=True,
    )
    files = "\n".join(f"- {name}" for name in question["data"])
    result = agent.run(f"{question['goal']}\n\nThe data is in the current folder:\n{files}\n\nAnswer in one sentence.")
    usage = result.token_usage
    told = {
        "answer": str(result.output),
        "is_finished": result.state == "success",
        "tokens": usage.input_tokens + usage.output_tokens if usage else 0,
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
