"""What can be asked: each function gives a call, which a `Client` sends.

Made from the API's document by `make types`; not edited by hand.
"""

from __future__ import annotations

from typing import Literal

from cellwright_client import shapes
from cellwright_client.call import Call, File, Stream, path_of


def accept_branch(run: str, branch: str) -> Call[shapes.BranchDecided]:
    """Keep a branch that waits."""
    return Call(
        method="POST", path=path_of("/runs/{run}/branches/{branch}/accept", run, branch), shape=shapes.BranchDecided
    )


def allow_server_tools(name: str, body: shapes.ShownTools) -> Call[shapes.AllowedTools]:
    """Let agents know of what waits, if it is what was shown."""
    return Call(method="POST", path=path_of("/tool-servers/{name}/allow", name), body=body, shape=shapes.AllowedTools)


def answer_question(question: str, body: shapes.AnswerBody) -> Call[shapes.AnswerTaken]:
    """Answer; the first answer stands."""
    return Call(
        method="POST", path=path_of("/questions/{question}/answer", question), body=body, shape=shapes.AnswerTaken
    )


def cancel_run(run: str, body: shapes.Reason | None = None) -> Call[shapes.RunNote]:
    """Stop at once, for good."""
    return Call(method="POST", path=path_of("/runs/{run}/cancel", run), body=body, shape=shapes.RunNote)


def change_goal(run: str, body: shapes.GoalBody) -> Call[shapes.RunNote]:
    """Another goal; the rest is planned anew."""
    return Call(method="POST", path=path_of("/runs/{run}/goal", run), body=body, shape=shapes.RunNote)


def change_plan(
    run: str,
    body: shapes.AddTaskBody
    | shapes.ChangeTaskBody
    | shapes.DropTaskBody
    | shapes.RetryTaskBody
    | shapes.TakeTaskBody
    | shapes.HandBackTaskBody,
) -> Call[shapes.RunNote]:
    """One task more, one less, or another one; or a person takes one, and hands it back."""
    return Call(method="POST", path=path_of("/runs/{run}/plan", run), body=body, shape=shapes.RunNote)


def close_notebook(id: str) -> Call[shapes.Noted]:
    """Save a notebook and end its kernel."""
    return Call(method="DELETE", path=path_of("/notebooks/{id}", id), shape=shapes.Noted)


def connection_files(name: str, *, path: str | None = None, search: str | None = None) -> Call[shapes.StoredListing]:
    """Files and folders of a bucket or file server, one level of them."""
    return Call(
        method="GET",
        path=path_of("/connections/{name}/files", name),
        query={"path": path, "search": search},
        shape=shapes.StoredListing,
    )


def connection_operations(name: str) -> Call[shapes.ApiShape]:
    """What an API connection allows, and what its OpenAPI document lists."""
    return Call(method="GET", path=path_of("/connections/{name}/operations", name), shape=shapes.ApiShape)


def connection_profile(name: str, *, table: str) -> Call[shapes.TableProfileShape]:
    """What a table is: columns and what they mean, ranges, gaps, problems; masked columns stay masked."""
    return Call(
        method="GET",
        path=path_of("/connections/{name}/profile", name),
        query={"table": table},
        shape=shapes.TableProfileShape,
    )


def connection_rows(name: str, *, table: str) -> Call[shapes.RowsShape]:
    """The first rows of a table; masked columns stay masked."""
    return Call(
        method="GET", path=path_of("/connections/{name}/rows", name), query={"table": table}, shape=shapes.RowsShape
    )


def connection_schema(
    name: str, *, search: str | None = None, table: str | None = None, is_fresh: bool | None = None
) -> Call[shapes.SchemaShape]:
    """Tables with columns and keys."""
    return Call(
        method="GET",
        path=path_of("/connections/{name}/schema", name),
        query={"search": search, "table": table, "is_fresh": is_fresh},
        shape=shapes.SchemaShape,
    )


def create_token(body: shapes.NewToken) -> Call[shapes.CreatedToken]:
    """A new token, shown once."""
    return Call(method="POST", path=path_of("/tokens"), body=body, shape=shapes.CreatedToken)


def drop_branch(run: str, branch: str) -> Call[shapes.BranchDecided]:
    """Drop a branch that waits."""
    return Call(
        method="POST", path=path_of("/runs/{run}/branches/{branch}/drop", run, branch), shape=shapes.BranchDecided
    )


def edit_notebook(id: str, body: shapes.EditsBody) -> Call[shapes.Edited]:
    """Change cells, run what that affects, and save."""
    return Call(method="POST", path=path_of("/notebooks/{id}/edits", id), body=body, shape=shapes.Edited)


def end_session() -> Call[shapes.RevokedToken]:
    """Revoke the token that asks."""
    return Call(method="DELETE", path=path_of("/session"), shape=shapes.RevokedToken)


def examine_machine() -> Call[shapes.Findings]:
    """What this machine can do, and what it lacks."""
    return Call(method="GET", path=path_of("/doctor"), shape=shapes.Findings)


def explain_rules(body: shapes.WantedAction) -> Call[shapes.Why]:
    """What would be said to an action, and why."""
    return Call(method="POST", path=path_of("/rules/why"), body=body, shape=shapes.Why)


def export_usage(*, days: int | None = None) -> File:
    """The same sums as CSV."""
    return File(method="GET", path=path_of("/usage.csv"), query={"days": days})


def follow_house() -> Stream:
    """Runs and questions of the whole house, as server-sent events."""
    return Stream(method="GET", path=path_of("/events"))


def follow_notebook(id: str) -> Stream:
    """What happens in a notebook's kernel."""
    return Stream(method="GET", path=path_of("/notebooks/{id}/events", id))


def follow_run(run: str, *, after: int | None = None) -> Stream:
    """What happens in a run, as server-sent events; between them, without an id, what its agents are being answered."""
    return Stream(method="GET", path=path_of("/runs/{run}/events", run), query={"after": after})


def forget_connection(name: str) -> Call[shapes.ForgottenShape]:
    """Take a connection and its secrets away; the record of what was sent stays."""
    return Call(method="DELETE", path=path_of("/connections/{name}", name), shape=shapes.ForgottenShape)


def fork_run(run: str, body: shapes.ForkBody | None = None) -> Call[shapes.RunNote]:
    """A new run with the steps of this one."""
    return Call(method="POST", path=path_of("/runs/{run}/fork", run), body=body, shape=shapes.RunNote)


def interrupt_notebook(id: str) -> Call[shapes.Noted]:
    """Stop what runs."""
    return Call(method="POST", path=path_of("/notebooks/{id}/interrupt", id), shape=shapes.Noted)


def list_artifacts(run: str) -> Call[shapes.Artifacts]:
    """What a run made."""
    return Call(method="GET", path=path_of("/runs/{run}/artifacts", run), shape=shapes.Artifacts)


def list_branches(run: str) -> Call[shapes.Branches]:
    """What a run tried in branches."""
    return Call(method="GET", path=path_of("/runs/{run}/branches", run), shape=shapes.Branches)


def list_changes(run: str) -> Call[shapes.Changes]:
    """What a run changed, cell by cell."""
    return Call(method="GET", path=path_of("/runs/{run}/changes", run), shape=shapes.Changes)


def list_connections(*, is_counted: bool | None = None) -> Call[shapes.ConnectionsShape]:
    """Databases, file servers and APIs by name, and the kinds there are."""
    return Call(
        method="GET", path=path_of("/connections"), query={"is_counted": is_counted}, shape=shapes.ConnectionsShape
    )


def list_files(*, path: str | None = None) -> Call[shapes.Listing]:
    """What lies in the folder that is served."""
    return Call(method="GET", path=path_of("/files"), query={"path": path}, shape=shapes.Listing)


def list_grants() -> Call[shapes.GrantList]:
    """Every yes that still allows something."""
    return Call(method="GET", path=path_of("/grants"), shape=shapes.GrantList)


def list_kernels() -> Call[shapes.Kernels]:
    """Kernels, the queue, and open questions."""
    return Call(method="GET", path=path_of("/kernels"), shape=shapes.Kernels)


def list_models() -> Call[shapes.ModelsList]:
    """Models, their prices, and which are ready."""
    return Call(method="GET", path=path_of("/models"), shape=shapes.ModelsList)


def list_notebooks() -> Call[shapes.Notebooks]:
    """Open notebooks, and those in the folder."""
    return Call(method="GET", path=path_of("/notebooks"), shape=shapes.Notebooks)


def list_questions() -> Call[shapes.AskedQuestions]:
    """What waits for an answer."""
    return Call(method="GET", path=path_of("/questions"), shape=shapes.AskedQuestions)


def list_roles() -> Call[shapes.Roles]:
    """What kinds of agents there are here: ours, and those of the folder that a person has accepted."""
    return Call(method="GET", path=path_of("/roles"), shape=shapes.Roles)


def list_rules() -> Call[shapes.RulesShape]:
    """Every rule and limit that holds here."""
    return Call(method="GET", path=path_of("/rules"), shape=shapes.RulesShape)


def list_run_questions(run: str) -> Call[shapes.AskedQuestions]:
    """What one run asks."""
    return Call(method="GET", path=path_of("/runs/{run}/questions", run), shape=shapes.AskedQuestions)


def list_runs(
    *,
    search: str | None = None,
    status: Literal[
        "",
        "done",
        "partial",
        "refused",
        "stopped",
        "failed",
        "waiting",
        "paused",
        "queued",
        "brief",
        "agree",
        "build",
        "check",
        "review",
        "deliver",
        "over",
        "running",
        "cancelled",
        "dead",
    ]
    | None = None,
    limit: int | None = None,
    before: str | None | None = None,
) -> Call[shapes.RunLines]:
    """Runs, the newest first."""
    return Call(
        method="GET",
        path=path_of("/runs"),
        query={"search": search, "status": status, "limit": limit, "before": before},
        shape=shapes.RunLines,
    )


def list_skills() -> Call[shapes.Skills]:
    """What the folder has written down how to do, as far as a person has accepted it."""
    return Call(method="GET", path=path_of("/skills"), shape=shapes.Skills)


def list_statements(
    *, connection: str | None = None, run: str | None = None, most: int | None = None
) -> Call[shapes.StatementsShape]:
    """What was sent through connections and what was refused, the latest first."""
    return Call(
        method="GET",
        path=path_of("/statements"),
        query={"connection": connection, "run": run, "most": most},
        shape=shapes.StatementsShape,
    )


def list_tokens() -> Call[shapes.TokenList]:
    """Every token that counts."""
    return Call(method="GET", path=path_of("/tokens"), shape=shapes.TokenList)


def list_tool_servers() -> Call[shapes.ToolServersShape]:
    """Servers whose tools agents may call, none asked; and those the folder proposes."""
    return Call(method="GET", path=path_of("/tool-servers"), shape=shapes.ToolServersShape)


def list_variables(id: str) -> Call[shapes.Variables]:
    """What the cells have defined."""
    return Call(method="GET", path=path_of("/notebooks/{id}/variables", id), shape=shapes.Variables)


def look_at_tool_server(name: str) -> Call[shapes.ToolServerShape]:
    """Ask a server what it says now, beside what was allowed of it."""
    return Call(method="POST", path=path_of("/tool-servers/{name}/look", name), shape=shapes.ToolServerShape)


def look_attached(body: shapes.AttachedQuery) -> Call[shapes.AttachedNotebookShape]:
    """Its cells, outcomes and versions as they are now.      A server on another machine is looked at only if a
    person kept its token here: `cellwright attach URL --keep-token`.."""
    return Call(method="POST", path=path_of("/attached/look"), body=body, shape=shapes.AttachedNotebookShape)


def open_editor(id: str) -> Call[shapes.EditorAddress]:
    """Where the editor of a notebook is, once."""
    return Call(method="POST", path=path_of("/notebooks/{id}/editor", id), shape=shapes.EditorAddress)


def open_notebook(body: shapes.Place) -> Call[shapes.NotebookName]:
    """Open a notebook with a kernel of its own."""
    return Call(method="POST", path=path_of("/notebooks"), body=body, shape=shapes.NotebookName)


def open_tutorial() -> Call[shapes.NotebookName]:
    """Write the tutorial notebook and open it."""
    return Call(method="POST", path=path_of("/onboarding/tutorial"), shape=shapes.NotebookName)


def pause_run(run: str, body: shapes.Nothing | None = None) -> Call[shapes.RunNote]:
    """Pause before the next step."""
    return Call(method="POST", path=path_of("/runs/{run}/pause", run), body=body, shape=shapes.RunNote)


def put_connection(name: str, body: shapes.NewConnection) -> Call[shapes.TriedShape]:
    """Add or change a connection, and try it at once; its secret is never shown."""
    return Call(method="PUT", path=path_of("/connections/{name}", name), body=body, shape=shapes.TriedShape)


def put_tool_server(name: str, body: shapes.NewToolServer) -> Call[shapes.ToolServerShape]:
    """Name a server, or change one, and ask it at once; its tools wait to be allowed."""
    return Call(method="PUT", path=path_of("/tool-servers/{name}", name), body=body, shape=shapes.ToolServerShape)


def read_artifact(run: str, name: str, *, inline: bool | None = None) -> File:
    """One file of a run."""
    return File(method="GET", path=path_of("/runs/{run}/artifacts/{name}", run, name), query={"inline": inline})


def read_health() -> Call[shapes.Health]:
    """Whether the door is open."""
    return Call(method="GET", path=path_of("/health"), shape=shapes.Health)


def read_news(run: str, *, after: int | None = None, wait_seconds: float | None = None) -> Call[shapes.RunNews]:
    """What happened in a run, in words; waits for something to happen."""
    return Call(
        method="GET",
        path=path_of("/runs/{run}/news", run),
        query={"after": after, "wait_seconds": wait_seconds},
        shape=shapes.RunNews,
    )


def read_notebook(id: str) -> Call[shapes.NotebookDetail]:
    """A notebook's cells as they stand."""
    return Call(method="GET", path=path_of("/notebooks/{id}", id), shape=shapes.NotebookDetail)


def read_onboarding() -> Call[shapes.Onboarding]:
    """What a newcomer is offered."""
    return Call(method="GET", path=path_of("/onboarding"), shape=shapes.Onboarding)


def read_report(run: str) -> File:
    """What a run found, as markdown."""
    return File(method="GET", path=path_of("/runs/{run}/report", run))


def read_session() -> Call[shapes.Session]:
    """Who asks."""
    return Call(method="GET", path=path_of("/session"), shape=shapes.Session)


def read_settings() -> Call[shapes.SettingsShape]:
    """Where things are and how code is contained."""
    return Call(method="GET", path=path_of("/settings"), shape=shapes.SettingsShape)


def read_timeline(run: str, *, after: int | None = None, limit: int | None = None) -> Call[shapes.Timeline]:
    """What happened in a run."""
    return Call(
        method="GET",
        path=path_of("/runs/{run}/timeline", run),
        query={"after": after, "limit": limit},
        shape=shapes.Timeline,
    )


def read_usage(*, days: int | None = None) -> Call[shapes.Usage]:
    """Cost per day, model and run; latency per model."""
    return Call(method="GET", path=path_of("/usage"), query={"days": days}, shape=shapes.Usage)


def redo_run(run: str) -> Call[shapes.RedoneShape]:
    """Take back the last undo."""
    return Call(method="POST", path=path_of("/runs/{run}/redo", run), shape=shapes.RedoneShape)


def remove_key(provider: str) -> Call[shapes.RemovedKey]:
    """Forget a provider's API key."""
    return Call(method="DELETE", path=path_of("/models/keys/{provider}", provider), shape=shapes.RemovedKey)


def remove_tool_server(name: str) -> Call[shapes.AllowedTools]:
    """Take a server away, with its secrets and what was allowed of it."""
    return Call(method="DELETE", path=path_of("/tool-servers/{name}", name), shape=shapes.AllowedTools)


def resume_run(run: str, body: shapes.Nothing | None = None) -> Call[shapes.RunNote]:
    """Go on: paused, cancelled or given up."""
    return Call(method="POST", path=path_of("/runs/{run}/resume", run), body=body, shape=shapes.RunNote)


def retry_run(run: str, body: shapes.RetryBody) -> Call[shapes.RunNote]:
    """Do a task again."""
    return Call(method="POST", path=path_of("/runs/{run}/retry", run), body=body, shape=shapes.RunNote)


def review_change(run: str, number: int, cell: str, body: shapes.VerdictBody) -> Call[shapes.CellChangeShape]:
    """Accept one cell's change, or take it back."""
    return Call(
        method="POST",
        path=path_of("/runs/{run}/changes/{number}/cells/{cell}", run, number, cell),
        body=body,
        shape=shapes.CellChangeShape,
    )


def revoke_grant(grant: str) -> Call[shapes.GrantShape]:
    """Take a yes back: it asks again."""
    return Call(method="DELETE", path=path_of("/grants/{grant}", grant), shape=shapes.GrantShape)


def revoke_token(id: str) -> Call[shapes.RevokedToken]:
    """Let a token not count."""
    return Call(method="DELETE", path=path_of("/tokens/{id}", id), shape=shapes.RevokedToken)


def run_cells(id: str, body: shapes.WhatToRun) -> Call[shapes.Ran]:
    """Run cells and what depends on them."""
    return Call(method="POST", path=path_of("/notebooks/{id}/run", id), body=body, shape=shapes.Ran)


def say_to_run(run: str, body: shapes.SayBody) -> Call[shapes.RunNote]:
    """Tell its agents something."""
    return Call(method="POST", path=path_of("/runs/{run}/say", run), body=body, shape=shapes.RunNote)


def set_key(provider: str, body: shapes.NewKey) -> Call[shapes.KeptKey]:
    """Keep a provider's API key; it is never shown."""
    return Call(method="PUT", path=path_of("/models/keys/{provider}", provider), body=body, shape=shapes.KeptKey)


def show_finding(number: int, run: str) -> Call[shapes.ShownFinding]:
    """Run the code of a finding in a branch of the notebook."""
    return Call(
        method="POST", path=path_of("/runs/{run}/findings/{number}/show", number, run), shape=shapes.ShownFinding
    )


def show_run(run: str) -> Call[shapes.RunDetail]:
    """Everything about one run."""
    return Call(method="GET", path=path_of("/runs/{run}", run), shape=shapes.RunDetail)


def start_run(body: shapes.NewRun) -> Call[shapes.RunName]:
    """Begin a run."""
    return Call(method="POST", path=path_of("/runs"), body=body, shape=shapes.RunName)


def start_session(body: shapes.StartSession) -> Call[shapes.NewSession]:
    """A token for a start code."""
    return Call(method="POST", path=path_of("/session"), body=body, shape=shapes.NewSession)


def stop_run(run: str, body: shapes.Reason | None = None) -> Call[shapes.RunNote]:
    """Hand over what there is, before the next step."""
    return Call(method="POST", path=path_of("/runs/{run}/stop", run), body=body, shape=shapes.RunNote)


def stored_file_profile(name: str, *, path: str) -> Call[shapes.FileProfileShape]:
    """What a file behind a connection is, or the data files of a folder; of large ones a part is fetched."""
    return Call(
        method="GET",
        path=path_of("/connections/{name}/files/profile", name),
        query={"path": path},
        shape=shapes.FileProfileShape,
    )


def try_connection(name: str) -> Call[shapes.TriedShape]:
    """Open a connection anew, and say what is wrong if it cannot be."""
    return Call(method="POST", path=path_of("/connections/{name}/try", name), shape=shapes.TriedShape)


def try_dataset(id: str) -> Call[shapes.Begun]:
    """Let the analyst work on a bundled data set."""
    return Call(method="POST", path=path_of("/onboarding/{id}", id), shape=shapes.Begun)


def undo_edits(id: str, body: shapes.UndoEditsBody) -> Call[shapes.Edited]:
    """Take back the last edits that were made here."""
    return Call(method="POST", path=path_of("/notebooks/{id}/undo", id), body=body, shape=shapes.Edited)


def undo_run(run: str, body: shapes.UndoBody | None = None) -> Call[shapes.UndoneShape]:
    """Take back one change, or all of them."""
    return Call(method="POST", path=path_of("/runs/{run}/undo", run), body=body, shape=shapes.UndoneShape)


def upload_file(name: str, body: bytes) -> Call[shapes.KeptFile]:
    """Put a file into the data folder; a name that is taken gets a number."""
    return Call(method="PUT", path=path_of("/files/{name}", name), body=body, shape=shapes.KeptFile)
