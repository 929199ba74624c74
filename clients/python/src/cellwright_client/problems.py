"""What goes wrong, as the API tells it."""

from __future__ import annotations

from pydantic import ValidationError

from cellwright_client.shapes import Problem, ProblemAnswer


class ApiError(Exception):
    """A call that did not do what it was for."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(f"{problem.message} {problem.hint}".strip())
        self.status = status
        """Of HTTP; 0: the server could not be reached."""
        self.problem = problem
        """What is wrong: `kind` for programs, `message` and `hint` for people."""


def problem_in(data: bytes, status: int) -> Problem:
    """What an answer says that is no success; something in between may have answered instead of the API."""
    try:
        return ProblemAnswer.model_validate_json(data).error
    except ValidationError:
        return Problem(kind="unknown", message=f"The server said {status}.", hint="")


def offline(problem: Exception) -> ApiError:
    """Nobody answers there."""
    told = Problem(
        kind="offline", message=f"Cellwright does not answer: {problem}.", hint="Is `cellwright serve` running?"
    )
    return ApiError(0, told)
