"""A kernel of Jupyter in a language of its own: `name = 1 + 2` binds, `name` shows, anything else fails."""

from __future__ import annotations

import re
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel


class SumsKernel(Kernel):
    implementation, implementation_version, banner = "sums", "1", "Sums"
    language_info = {"name": "sums", "mimetype": "text/plain", "file_extension": ".sums"}  # noqa: RUF012

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.held: dict[str, int] = {}

    async def do_execute(
        self, code: str, silent: bool, store_history: bool = True, user_expressions: Any = None,
        allow_stdin: bool = False, *, cell_meta: Any = None, cell_id: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        try:
            for line in filter(None, map(str.strip, code.splitlines())):
                self._line(line)
        except ValueError as error:
            told = {"ename": "SumError", "evalue": str(error), "traceback": ["\x1b[31mno sum\x1b[0m"]}
            self.send_response(self.iopub_socket, "error", told)
            return {"status": "error", "execution_count": self.execution_count, **told}
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _line(self, line: str) -> None:
        name, equals, sum_of = line.partition("=")
        if equals and re.fullmatch(r"[\d+ ]+", sum_of):
            self.held[name.strip()] = sum(map(int, sum_of.split("+")))
        elif line.startswith("say "):
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": line[4:] + "\n"})
        elif line in self.held:
            data = {"text/plain": str(self.held[line])}
            told = {"execution_count": self.execution_count, "data": data, "metadata": {}}
            self.send_response(self.iopub_socket, "execute_result", told)
        else:
            raise ValueError(f"no sum: {line}")


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=SumsKernel)
