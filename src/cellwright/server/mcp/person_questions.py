"""Questions of a run put to the person at a client: as a form, in both eras of the protocol.

Accepted is answered, declined is denied, cancelled stays open; so does what a client declines that does so by itself.
Nothing else answers: a model has no way to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cellwright.errors import CellwrightError
from cellwright.server.http.api_calls import ApiCalls

STATELESS: Final = "2026-07-28"
"""From this version on a server asks by what it returns."""
_AMOUNTS: Final = frozenset({"raise", "price"})
_NOT_HERE: Final = frozenset({"always"})
"""A yes for ever is said where one sees all of them."""
_UNASKED: Final = frozenset({"paused"})
"""Somebody paused it on purpose."""
_DECLINING_CLIENTS: Final = frozenset({"codex-mcp-client"})
"""They decline by themselves where nobody sits there (`codex exec`), and nothing in the protocol tells that from a
person's no. Who sits there says no in the form."""
Question = Mapping[str, Any]
"""`AskedQuestion`, as the API gives it."""
Action = Literal["accept", "decline", "cancel"]


@dataclass(slots=True, kw_only=True)
class PersonAtClient:
    """Whoever sits there, during one call of a tool."""

    context: ServerRequestContext[Any, Any]
    api: ApiCalls | None
    """The API as a caller who may answer; None: nobody at this client may."""
    asked: set[str] = field(default_factory=set[str])
    """What they have seen already."""
    notes: list[str] = field(default_factory=list[str])
    """What came of it."""

    def next_question(self, questions: list[Question]) -> Question | None:
        """The one to be asked now; None: there is none, or they cannot be asked."""
        if self.api is None or not _can_elicit(self.context):
            return None
        asked = (each for each in questions if each["id"] not in self.asked and each["topic"] not in _UNASKED)
        return next(asked, None)

    def request(self, question: Question) -> types.InputRequiredResult:
        """What is returned in place of a result, where the client asks and calls again."""
        form = types.ElicitRequestFormParams(message=question["what"], requested_schema=form_of(question))
        # The answer comes with exactly what was shown.
        key = f"{question['fingerprint']} {question['id']}"
        return types.InputRequiredResult(input_requests={key: types.ElicitRequest(params=form)})

    async def ask(self, question: Question) -> None:
        """Ask and wait, where the client can be asked in the middle of a call."""
        self.asked.add(question["id"])
        try:
            said = await self.context.session.elicit_form(
                question["what"], form_of(question), related_request_id=self.context.request_id
            )
        except MCPError as problem:
            self.notes.append(f"The client could not ask {question['id']}, which stays open: {problem.message}")
            return
        await self._take(question, said.action, said.content or {})

    async def take_responses(self, responses: types.InputResponses, questions: list[Question]) -> None:
        """What a client brings that was asked to ask; about what is not asked any more it is told so."""
        for key, said in responses.items():
            fingerprint, _, id = key.partition(" ")
            if not isinstance(said, types.ElicitResult):
                continue
            self.asked.add(id)
            question = next((each for each in questions if each["id"] == id), None)
            if question is None:
                self.notes.append(f"{id} is not asked any more; the answer changed nothing.")
            else:
                await self._take({**question, "fingerprint": fingerprint}, said.action, said.content or {})

    async def _take(self, question: Question, action: Action, content: Mapping[str, Any]) -> None:
        if action == "decline" and self._declines_by_itself:
            self.notes.append(
                f"The client declines by itself where nobody sits there, so nobody said no to {question['id']}."
            )
            action = "cancel"
        body = answer_of(question, action, content)
        if body is None or self.api is None:
            self.notes.append(f"{question['id']} was not answered and stays open.")
            return
        try:
            taken = await self.api.post(f"/questions/{question['id']}/answer", body)
            self.notes.append(f"The person answered {question['id']}: {taken['says']}.")
        except CellwrightError as problem:
            self.notes.append(f"The answer to {question['id']} does not count: {problem.message}")

    @property
    def _declines_by_itself(self) -> bool:
        told = self.context.session.client_params
        return told is not None and told.client_info.name in _DECLINING_CLIENTS


def form_of(question: Question) -> dict[str, Any]:
    """The form for it: one field, or two."""
    offers = [each for each in question["offers"] if each not in _NOT_HERE]
    answer: dict[str, Any] = {"type": "string", "title": "Answer"}
    fields = {"answer": answer | {"enum": offers} if offers else answer}
    if _AMOUNTS.intersection(offers):
        fields["amount"] = {"type": "string", "title": "Amount", "description": "With `raise` or `price`: a number."}
    if "no" in offers:
        fields["feedback"] = {"type": "string", "title": "A word to the agent", "description": "With `no`."}
    return {"type": "object", "properties": fields, "required": ["answer"]}


def answer_of(question: Question, action: Action, content: Mapping[str, Any]) -> dict[str, str] | None:
    """The body of the answer; None: it stays open."""
    answer = str(content.get("answer") or "").strip()
    if action == "decline":
        answer, content = ("no", {}) if "no" in question["offers"] else ("", {})
    if action == "cancel" or not answer or answer in _NOT_HERE:
        return None
    body = {"answer": answer, "fingerprint": question["fingerprint"]}
    if answer in _AMOUNTS and question["fingerprint"]:
        body["answer"] = f"{answer} {content.get('amount', '')}".strip()
    if answer == "no" and question["fingerprint"]:
        body["feedback"] = str(content.get("feedback") or "")
    return body


def _can_elicit(context: ServerRequestContext[Any, Any]) -> bool:
    able = context.session.client_capabilities
    elicits = able is not None and able.elicitation is not None
    # A client that names no kind of asking means forms; one that names only addresses has none.
    if not elicits or able is None or able.elicitation is None:
        return False
    if able.elicitation.form is None and able.elicitation.url is not None:
        return False
    return context.protocol_version >= STATELESS or context.session.can_send_request
