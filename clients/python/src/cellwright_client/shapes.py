"""What is sent and answered, as values.

Made from the API's document by `make types`; not edited by hand.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from cellwright_client.shape import Shape


class AddTaskBody(Shape):
    """One more task."""

    op: Literal["add"]
    task: TaskInput


class AllowedTools(Shape):
    """What agents may be told of now."""

    allowed: list[str]


class AlternativeInput(Shape):
    """One of several ways, or one of several things that may be so; tried in a branch and compared with the others."""

    name: str
    todo: str = ""


class AlternativeOutput(Shape):
    """One of several ways, or one of several things that may be so; tried in a branch and compared with the others."""

    name: str
    todo: str = ""


class AnswerBody(Shape):
    """A person's answer."""

    answer: str
    feedback: str = ""
    fingerprint: str = ""
    reach: Literal["once", "run", "always"] | None = None


class AnswerTaken(Shape):
    """The answer counts."""

    id: str
    says: str


class ApiShape(Shape):
    """What an API connection allows, and what its OpenAPI document says."""

    base: str
    document: str
    header: str
    left_out: list[str]
    methods: list[str]
    operations: list[OperationShape]
    origin: str
    paths: list[str]
    problem: str
    stand_in: str
    title: str
    total: int


class Artifact(Shape):
    """One file."""

    bytes: int
    kind: Literal["notebook", "report", "proof"] | str
    name: str


class Artifacts(Shape):
    """What there is now."""

    artifacts: list[Artifact]


class AskedQuestion(Shape):
    """What a run asks."""

    answer_with: str
    asked_ms: int
    fingerprint: str
    id: str
    offers: list[str]
    query: AskedStatement | None
    run: str
    topic: str
    what: str


class AskedQuestions(Shape):
    """What waits for an answer, oldest first."""

    questions: list[AskedQuestion]


class AskedStatement(Shape):
    """What would be sent to a database; nothing in it is invisible."""

    access: Literal["read", "write"] | str
    connection: str
    statement: str
    touches: str


class AttachedCellShape(Shape):
    """One cell, as its session tells it."""

    code: str
    console: str
    error: str
    id: str
    is_stale: bool
    name: str
    output: str
    status: str
    traceback: str
    version: int


class AttachedNotebookShape(Shape):
    """A notebook outside any cage of ours."""

    cells: list[AttachedCellShape]
    path: str
    server: str


class AttachedQuery(Shape):
    """Which notebook: a server's address, or a file that one of this machine's servers has open, or both."""

    file: str = ""
    url: str = ""


class Begun(Shape):
    """The run that has begun."""

    run: str


class BranchDecided(Shape):
    """A person's word about branches that waited."""

    branches: list[str]
    by: str
    decision: Literal["accepted", "dropped"] | str
    is_settled: bool
    run: str
    says: str


class BranchShape(Shape):
    """One branch, from its making to its end."""

    agent: str
    at_ms: int
    branch: str
    cells: list[TriedCellShape]
    checks: list[TriedCheckShape]
    decided_by: str
    files: list[str]
    group: str
    is_kept: bool
    ms: float
    note: str
    purpose: str
    reasons: list[str]
    state: Literal["waits", "accepted", "dropped", "kept", "not-kept"] | str
    status: Literal["passed", "failed", "refused", "lost"] | str
    variables: list[TriedVariableShape]
    way: str


class Branches(Shape):
    """Every branch a run told of, oldest first."""

    branches: list[BranchShape]


class CellChangeShape(Shape):
    """What one change made of one cell."""

    after: str | None
    before: str | None
    cell: str
    comment: str
    kind: Literal["created", "edited", "deleted", "moved"] | str
    name: str
    review: Literal["open", "accepted", "rejected"] | str


class CellOutcomeShape(Shape):
    """How one cell's run stands."""

    cell: str
    error: str | None
    ms: float
    name: str
    status: Literal["ok", "failed", "interrupted", "cancelled", "stopped", "disabled", "stale", "running", "lost"] | str


class CellShape(Shape):
    """One cell, as it stands."""

    code: str
    console: str
    defines: list[str]
    error: str | None
    error_line: int | None
    id: str
    is_stale: bool
    ms: float | None
    name: str
    output: Output | None
    refers: list[str]
    status: (
        Literal["ok", "failed", "interrupted", "cancelled", "stopped", "disabled", "stale", "running", "lost"]
        | str
        | Literal["new"]
    )
    traceback: str
    version: int


class ChangeShape(Shape):
    """One change of an agent."""

    agent: str
    at_ms: int | None
    call: str
    cells: list[CellChangeShape]
    is_undone: bool
    number: int


class ChangeTaskBody(Shape):
    """Another title or another work; only of a task that is not over."""

    op: Literal["change"]
    task: str
    title: str = ""
    todo: str = ""


class Changes(Shape):
    """Every change that is remembered, oldest first."""

    can_redo: bool
    changes: list[ChangeShape]


class CheckInput(Shape):
    """One thing that must hold in the end; a test of this name in the notebook shows it."""

    says: str
    test: str


class CheckOutput(Shape):
    """One thing that must hold in the end; a test of this name in the notebook shows it."""

    says: str
    test: str


class CheckedSentence(Shape):
    """A sentence of the report and what holds it."""

    cards: list[str]
    missing: list[str]
    section: str
    standing: Literal["holds", "judged", "unjudged", "uncited figure", "unknown card", "unsupported", "uncited"] | str
    text: str
    why: str


class ColumnShape(Shape):
    """One column."""

    comment: str
    is_key: bool
    is_masked: bool
    is_nullable: bool
    name: str
    samples: list[str]
    type: str


class ComparedWay(Shape):
    """One of several ways that were tried side by side, and how it did."""

    checks: str
    is_kept: bool
    ms: float
    name: str
    shows: str
    status: str
    way: str


class Comparison(Shape):
    """Alternatives of one task, best first."""

    task: str
    ways: list[ComparedWay]


class ConnectionShape(Shape):
    """One connection; never its secret."""

    bytes_read: int
    is_untried: bool
    kind: (
        Literal[
            "postgres",
            "redshift",
            "mysql",
            "clickhouse",
            "snowflake",
            "bigquery",
            "databricks",
            "trino",
            "sqlite",
            "duckdb",
            "s3",
            "api",
            "http",
            "webdav",
            "sftp",
            "smb",
            "gcs",
            "azure",
        ]
        | str
    )
    last_at: str
    leads_to: str
    masked: list[str]
    name: str
    options: dict[str, str]
    price: str
    projects: list[str]
    rows_read: int
    secret_in: str
    statements: int
    ways: list[Literal["sql", "exchange", "files"] | str]
    writer: str
    writer_secret_in: str


class ConnectionsShape(Shape):
    """Every connection, and every kind there could be one of."""

    connections: list[ConnectionShape]
    kinds: list[KindShape]
    problem: str


class Contradiction(Shape):
    """Cards that cannot all be right."""

    about: str
    by: str
    cards: list[str]


class CreatedToken(Shape):
    """A new token, this once."""

    expires_ms: int | None
    id: str
    scope: Literal["read", "steer", "approve", "admin"] | str
    token: str


class DatasetShape(Shape):
    """A data set to try the analyst on."""

    files: list[str]
    id: str
    question: str
    title: str


class DeliveredCheck(Shape):
    """A check and whether it held."""

    detail: str
    has_passed: bool
    is_hollow: bool
    name: str
    says: str


class DeliveredFinding(Shape):
    """One thing that was found, in a sentence."""

    bars: list[tuple[str, float]]
    cell: str
    says: str
    statistics: str


class DeliveredTask(Shape):
    """A task and what came of it."""

    id: str
    note: str
    status: Literal["planned", "running", "done", "failed", "dropped"] | str
    title: str


class Delivery(Shape):
    """What a run hands over."""

    answer: str
    assumptions: list[str]
    caveats: list[str]
    checks: list[DeliveredCheck]
    comparisons: list[Comparison]
    findings: list[DeliveredFinding]
    goal: str
    headline: str
    is_price_known: bool
    microdollars: int
    notebook: str
    picture: str
    problems: list[str]
    proof: str
    questions: list[ReviewQuestion]
    readings: list[str]
    remedies: list[Remedy]
    report: str
    reviewed: list[JudgedFinding]
    second_opinion: str
    seconds: float
    status: Literal["done", "partial", "refused", "stopped", "failed"] | str
    summary: str
    tasks: list[DeliveredTask]
    text: str
    title: str
    tokens: int
    trust: str
    why: str


class DismissedContradiction(Shape):
    """Cards that code took for a contradiction, and who reads them does not."""

    by: str
    cards: list[str]
    why: str


class DoctorFinding(Shape):
    """One thing that was looked at."""

    consequence: str
    detail: str
    name: str
    ok: bool


class DropTaskBody(Shape):
    """Do without it."""

    op: Literal["drop"]
    task: str


class Edited(Shape):
    """What became of the cells."""

    changes: list[str]
    news: str
    ran: Ran


class EditorAddress(Shape):
    """Where the editor is for whoever asked; it opens once."""

    url: str


class EditsBody(Shape):
    """Edits, all of which are made or none."""

    edits: list[dict[str, Any]]
    key: str | None = None
    run: Literal["affected", "none"] = "affected"
    wait_seconds: float = 0


class EvidenceCard(Shape):
    """What somebody found, where it stands and in which words."""

    about: str
    address: str
    by: str
    end: int
    id: str
    name: str
    page: int
    path: str
    quote: str
    says: str
    source: str
    start: int
    task: str
    title: str


class EvidenceSource(Shape):
    """One document of a run."""

    address: str
    characters: int
    id: str
    kind: str
    name: str
    notices: list[str]
    pages: int
    path: str
    sha256: str
    title: str


class ExtractBody(Shape):
    """Rows with evidence out of documents: which fields, of which documents."""

    documents: list[str]
    fields: str
    has_many_rows: bool = False
    readings: int = 1


class ExtractedField(Shape):
    """One thing that is looked for."""

    choices: list[str]
    name: str
    says: str
    type: Literal["text", "number", "integer", "date", "boolean"] | str


class ExtractionOrder(Shape):
    """What is to be extracted from what: a part of a run's goal."""

    documents: list[str]
    fields: list[ExtractedField]
    has_many_rows: bool
    readings: int


class FileEntry(Shape):
    """A file or folder."""

    bytes: int
    changed_ms: int
    is_folder: bool
    name: str
    path: str


class FileProfileShape(Shape):
    """What a file of a connection is."""

    notes: list[str]
    path: str
    tables: list[TableProfileShape]


class Finding(Shape):
    """Something that does not hold in a notebook."""

    by: Literal["reviewer", "code"] | str
    claim: str
    found: str
    is_of_words: bool
    kind: str
    shows: str


class FindingShape(Shape):
    """Something that does not hold in a run's notebook, as its review told of it last."""

    by: Literal["reviewer", "code"] | str
    claim: str
    error: str
    found: str
    kind: str
    number: int
    shows: str
    standing: Literal["shown", "not shown", "mended"] | str
    task: str


class Findings(Shape):
    """Everything that was looked at."""

    findings: list[DoctorFinding]
    ok: bool
    tier: Literal["A", "B", "C", "D"] | str


class ForeignKeyShape(Shape):
    """Columns that mean a row of another table."""

    columns: list[str]
    table: str
    target: list[str]


class ForgottenShape(Shape):
    """What was taken away."""

    name: str
    removed_from: list[str]


class ForkBody(Shape):
    """From where the new run goes on."""

    from_step: int | None = None


class Goal(Shape):
    """One goal, as an interface took it."""

    answer: str
    approve: Literal["ask", "envelope", "never"] | str
    attach: str
    attach_file: str
    begins: Literal["planner", "agent"] | str
    budget_usd: str | None
    connections: list[str]
    context: list[str]
    continues: str
    data: list[str]
    depth: Literal["answer", "full"] | str
    effort: Literal["quick", "normal", "thorough"] | str
    extraction: ExtractionOrder | None
    files: list[str]
    form: str
    is_private: bool
    is_reviewed: bool
    kernels: list[str]
    limits: list[str]
    models: list[str]
    notebook: str
    person: str
    plan: Plan | None
    priority: int
    project: str
    python: Literal["header", "ours"] | str
    rejected: list[str]
    search: str
    sources: list[str]
    template: str
    tools: list[str]
    uses_web: bool
    wants: Literal["answer", "review", "document", "research"] | str
    words: str


class GoalBody(Shape):
    """What is wanted instead."""

    words: str


class GrantList(Shape):
    """Every yes that still allows something."""

    grants: list[GrantShape]


class GrantShape(Shape):
    """A yes that lasts."""

    at_ms: int
    by: str
    covers: str
    door: str
    expires_ms: int | None
    id: str
    project: str
    reach: Literal["once", "run", "always"] | str
    run: str


class HandBackTaskBody(Shape):
    """A task that a person took is done, or an agent is to do it after all."""

    is_done: bool
    op: Literal["hand-back"]
    task: str
    words: str = ""


class HandOff(Shape):
    """What a task that is done leaves to others."""

    by: str
    readings: list[str]
    task: str
    tests: list[HandedTest]
    title: str
    variables: list[HandedVariable]
    words: str


class HandedTest(Shape):
    """One test that a task's cells hold."""

    name: str
    verdict: str


class HandedVariable(Shape):
    """One variable that a task's cells define."""

    cell: str
    digest: str
    name: str
    size: str
    type: str


class Health(Shape):
    """How the web door is."""

    api: str
    editor_problem: str
    page_built: bool
    status: Literal["ok"]
    version: str


class JudgedFinding(Shape):
    """A finding, and what became of the code that is to show it."""

    error: str
    finding: Finding
    standing: Literal["shown", "not shown", "mended"] | str


class KeptFile(Shape):
    """Where an upload is now."""

    bytes: int
    path: str


class KeptKey(Shape):
    """Where a key is kept now."""

    kept_in: Literal["keyring", "file"] | str
    provider: str


class KernelLine(Shape):
    """One kernel, with everything in its cage."""

    cpu_seconds: float
    memory_mb: float
    notebook: str
    notebook_id: str
    pid: int
    run: str | None
    state: Literal["running", "idle"] | str


class KernelShape(Shape):
    """The process that runs a notebook's cells, with all it started."""

    cpu_seconds: float
    memory_mb: float
    pid: int
    state: Literal["running", "idle"] | str


class Kernels(Shape):
    """What this machine does for notebooks."""

    kernels: list[KernelLine]
    questions_waiting: int
    queue: Queue


class KindShape(Shape):
    """A kind of connection, and what one of it takes."""

    is_file: bool
    is_untried: bool
    kind: (
        Literal[
            "postgres",
            "redshift",
            "mysql",
            "clickhouse",
            "snowflake",
            "bigquery",
            "databricks",
            "trino",
            "sqlite",
            "duckdb",
            "s3",
            "api",
            "http",
            "webdav",
            "sftp",
            "smb",
            "gcs",
            "azure",
        ]
        | str
    )
    known: list[str]
    needed: list[str]
    port: int | None
    ways: list[Literal["sql", "exchange", "files"] | str]


class Latency(Shape):
    """How one model answers."""

    calls: int
    failures: int
    model: str
    p50_ms: int
    p95_ms: int


class LayerShape(Shape):
    """Where the rules of a layer stand."""

    file: str
    is_there: bool
    layer: Literal["user", "team", "project", "built-in"] | str


class LimitShape(Shape):
    """One limit."""

    limit: str
    where: str


class Listing(Shape):
    """What lies at a path."""

    entries: list[FileEntry]
    path: str


class ModelShape(Shape):
    """One model we know of."""

    abilities: list[str]
    context_tokens: int | None
    currency: str
    health: Literal["closed", "open", "half-open"] | str
    input_price_per_million: str | None
    is_local: bool
    is_ready: bool
    name: str
    needs: str
    output_price_per_million: str | None
    tiers: list[str]


class ModelsList(Shape):
    """Chains of models by tier, models, and whose they are."""

    models: list[ModelShape]
    providers: list[ProviderShape]
    tiers: dict[str, list[str]]


class NewConnection(Shape):
    """What a connection leads to. Without a secret, what is kept stays."""

    kind: Literal[
        "postgres",
        "redshift",
        "mysql",
        "clickhouse",
        "snowflake",
        "bigquery",
        "databricks",
        "trino",
        "sqlite",
        "duckdb",
        "s3",
        "api",
        "http",
        "webdav",
        "sftp",
        "smb",
        "gcs",
        "azure",
    ]
    masked: list[str] = []
    options: dict[str, str] | None = None
    projects: list[str] = []
    secret: str | None = None
    writer: str = ""
    writer_secret: str | None = None


class NewKey(Shape):
    """A provider's API key."""

    key: str


class NewRun(Shape):
    """A goal, and how it is to be reached. Paths are relative to the folder that is served, and inside it."""

    goal: str
    approve: Literal["ask", "envelope", "never"] = "ask"
    attach: str = ""
    attach_file: str = ""
    budget_usd: str | None = None
    connections: list[str] = []
    context: list[str] = []
    data: list[str] = []
    depth: Literal["answer", "full"] = "answer"
    effort: Literal["quick", "normal", "thorough"] = "normal"
    extract: ExtractBody | None = None
    is_private: bool = False
    kernels: list[str] = []
    key: str | None = None
    models: list[str] = []
    notebook: str | None = None
    priority: int = 0
    research: ResearchBody | None = None
    tools: list[str] = []


class NewSession(Shape):
    """The same, and what to send from now on."""

    expires_ms: int | None
    person: str
    scope: Literal["read", "steer", "approve", "admin"] | str
    token: str
    token_id: str


class NewToken(Shape):
    """What a token is to be."""

    name: str
    scope: Literal["read", "steer", "approve", "admin"]
    days: int | None = 30
    person: str | None = None


class NewToolServer(Shape):
    """A server: a command, or an address."""

    call_seconds: float = 120.0
    command: list[str] = []
    files: Literal["none", "read", "write"] = "none"
    hosts: list[str] = []
    packages: list[str] = []
    private_hosts: bool = False
    projects: list[str] = []
    secrets: dict[str, str] | None = None
    settings: dict[str, str] | None = None
    software: list[str] = []
    url: str = ""


class NotebookDetail(Shape):
    """A whole notebook."""

    cells: list[CellShape]
    id: str
    is_live: bool
    path: str
    run: str | None
    version: int


class NotebookLine(Shape):
    """One notebook of many."""

    cells: int
    id: str
    is_live: bool
    kernel: KernelShape | None
    path: str
    run: str | None


class NotebookName(Shape):
    """Which notebook that is from now on."""

    id: str


class Notebooks(Shape):
    """Those that are open, then those that lie in the folder."""

    notebooks: list[NotebookLine]


class Noted(Shape):
    """Done, and what to say about it."""

    id: str
    note: str


class Nothing(Shape):
    """Nothing needs to be said."""


class Onboarding(Shape):
    """What a newcomer is offered."""

    datasets: list[DatasetShape]
    is_first: bool
    tutorial: str


class OperationParameterShape(Shape):
    """One argument of an operation."""

    is_required: bool
    name: str
    place: str
    type: str
    words: str


class OperationShape(Shape):
    """One thing an API can be asked."""

    method: str
    name: str
    parameters: list[OperationParameterShape]
    path: str
    refused: str
    words: str


class Output(Shape):
    """What a cell shows, as bounded text."""

    mimetype: str
    text: str


class Place(Shape):
    """Which notebook."""

    path: str


class Plan(Shape):
    """What will be done, and what for."""

    title: str
    assumptions: list[str] = []
    deliverable: str = ""
    hosts: list[str] = []
    packages: list[str] = []
    tasks: list[TaskOutput] = []


class Problem(Shape):
    """What went wrong."""

    hint: str
    kind: str
    message: str
    remedy: Remedy | None = None


class ProblemAnswer(Shape):
    """The body of every answer that is not a success."""

    error: Problem


class ProfileRemark(Shape):
    """Something a careful person would want to know."""

    column: str
    says: str
    severity: Literal["note", "warning", "problem"] | str


class ProfiledColumn(Shape):
    """One column as it was found."""

    common: list[ProfiledValue]
    distinct: int
    greatest: float | None
    histogram: list[int]
    is_unique: bool
    kind: Literal["integer", "number", "boolean", "date", "datetime", "time", "text", "nested", "empty"] | str
    least: float | None
    meaning: (
        Literal["id", "category", "measure", "currency", "date", "text", "code", "flag", "constant", "unknown"] | str
    )
    missing: int
    name: str
    unit: str
    values: str


class ProfiledValue(Shape):
    """A value and how often it is there."""

    count: int
    value: str


class ProofShape(Shape):
    """The proof that the notebook ran from scratch, twice, with the same outputs."""

    is_valid: bool
    path: str
    says: str


class ProviderShape(Shape):
    """One provider; never its key."""

    base_url: str
    health: Literal["closed", "open", "half-open"] | str
    is_local: bool
    is_ready: bool
    key_from: str
    kind: str
    name: str
    needs: str


class Queue(Shape):
    """How many runs wait for their turn, and how many have it."""

    at_work: int
    waiting: int


class Ran(Shape):
    """What came of it so far."""

    cells: list[CellOutcomeShape]
    is_running: bool
    problem: str
    stale: list[str]


class Reason(Shape):
    """Why, for the record."""

    reason: str = ""


class RecordedEvent(Shape):
    """An event where it stands."""

    at_ms: int
    event: dict[str, Any]
    key: str
    kind: str
    link: str
    sequence: int
    stream: str


class RedoneShape(Shape):
    """What was undone is there again."""

    by: Literal["checkpoint", "replay", "cells", "file"] | str | None
    cells: list[str]
    run: str
    why: str


class Remedy(Shape):
    """One thing to do next. `remedy` makes one and checks the arguments."""

    kind: (
        Literal[
            "add_data",
            "name_notebook",
            "name_project",
            "allow_folder",
            "raise_limit",
            "allow_time",
            "use_own_python",
            "allow_uncontained",
            "keep_files",
            "keep_changes",
            "rerun_notebook",
            "without_private",
            "set_key",
            "store_key_in_file",
            "configure_model",
            "see_models",
            "test_models",
            "add_connection",
            "give_options",
            "set_connection_secret",
            "set_writer_secret",
            "install_driver",
            "stop_broker",
            "ask_for_write",
            "allow_method",
            "add_tool_server",
            "allow_server_tools",
            "set_server_secret",
            "show_server_software",
            "allow_private_server",
            "see_doctor",
            "see_run",
            "resume_run",
            "see_inbox",
            "see_grants",
            "trust_project",
            "see_journal",
            "verify_journal",
            "name_journal_key",
            "replace_journal",
            "start_daemon",
            "stop_daemon",
            "stop_gateway",
            "open_web",
            "serve_with_tls",
            "give_tls_files",
            "serve_without_page",
            "get_address",
            "get_admitted",
            "create_token",
        ]
        | str
    )
    arguments: dict[str, str] | None = None
    lead: str = ""


class RemovedKey(Shape):
    """Where a key was kept."""

    provider: str
    removed_from: list[Literal["keyring", "file"] | str]


class ResearchBody(Shape):
    """Where a research reads, and what it is written as. Paths are relative to the folder that is served."""

    form: str = "report"
    search: str = ""
    sources: list[str] = []
    uses_web: bool = False


class ResearchDetail(Shape):
    """What a research has read, found and written, as far as it has told it."""

    cards: list[EvidenceCard]
    rejected: list[str]
    report: ResearchReport | None
    run: str
    skipped: list[str]
    sources: list[EvidenceSource]


class ResearchReport(Shape):
    """All of it but the cards, which have events of their own."""

    caveats: list[str]
    contradictions: list[Contradiction]
    dismissed: list[DismissedContradiction]
    form: str
    question: str
    sections: list[SectionText]
    sentences: list[CheckedSentence]
    summary: str
    title: str
    trust: str


class RetryBody(Shape):
    """Which task is done again."""

    task: str
    budget_usd: str | None = None


class RetryTaskBody(Shape):
    """Do it again."""

    op: Literal["retry"]
    task: str


class ReviewQuestion(Shape):
    """Something in the data that makes figures wrong in silence, and whether the notebook settles it."""

    kind: str
    says: str
    settled: str = ""


class RevokedToken(Shape):
    """A token that does not count any more."""

    id: str


class RoleShape(Shape):
    """One kind of agent."""

    context_tokens: int
    description: str
    is_own: bool
    name: str
    prompt: str
    steps: int
    style: str
    temperature: float | None
    tier: Literal["fast", "smart", "code", "embed"] | str
    tokens: int
    tools: list[str]


class Roles(Shape):
    """Every role there is here."""

    roles: list[RoleShape]


class RowsShape(Shape):
    """A few rows of a table."""

    columns: list[tuple[str, str]]
    notices: list[str]
    rows: list[list[Any]]


class RuleShape(Shape):
    """One rule."""

    actions: list[
        Literal[
            "edit-cells",
            "run-code",
            "read-file",
            "write-file",
            "delete-file",
            "use-network",
            "query-connection",
            "install-package",
            "spend",
            "run-shell",
            "git-commit",
            "call-tool",
            "change-attached",
        ]
        | str
    ]
    layer: Literal["user", "team", "project", "built-in"] | str
    reason: str
    says: Literal["allow", "ask", "deny"] | str
    where: str


class RulesShape(Shape):
    """Every rule and limit that holds here."""

    layers: list[LayerShape]
    limits: list[LimitShape]
    project: str
    rules: list[RuleShape]


class RunDetail(Shape):
    """Everything about one run."""

    agents: list[str]
    began_ms: int
    cell: str
    cost: str
    data_questions: list[ReviewQuestion]
    delivery: Delivery | None
    files: str
    findings: list[FindingShape]
    goal: Goal | None
    microdollars: int
    note: str
    notebook: str
    notebook_is_live: bool
    person: str
    plan: Plan | None
    proof: ProofShape | None
    questions: list[AskedQuestion]
    run: str
    seconds: float
    stage: Literal["queued", "brief", "agree", "build", "check", "review", "deliver", "over"] | str
    standing: Literal["queued", "running", "done", "failed", "cancelled", "dead"] | str | Literal["waiting"]
    status: (
        Literal[
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
        ]
        | str
    )
    steps: int
    team: list[TaskWork]
    tokens: int
    unpriced_tokens: int
    waits: str


class RunLine(Shape):
    """One run of many."""

    began_ms: int
    goal: str
    microdollars: int
    notebook: str
    person: str
    questions: int
    run: str
    seconds: float
    stage: Literal["queued", "brief", "agree", "build", "check", "review", "deliver", "over"] | str
    standing: Literal["queued", "running", "done", "failed", "cancelled", "dead"] | str | Literal["waiting"]
    status: (
        Literal[
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
        ]
        | str
    )
    unpriced_tokens: int


class RunLines(Shape):
    """Runs, the newest first."""

    next: str | None
    runs: list[RunLine]


class RunName(Shape):
    """A run."""

    run: str


class RunNews(Shape):
    """What happened in a run, in words."""

    is_over: bool
    last: int
    lines: list[str]
    questions: list[AskedQuestion]
    run: str


class RunNote(Shape):
    """The run that was meant, or begun, and what happens now."""

    note: str
    run: str


class SayBody(Shape):
    """What the agents should know before their next step."""

    text: str
    cell: str | None = None


class SchemaShape(Shape):
    """What a connection shows."""

    fitting: int
    read_at: str
    server: str
    tables: list[TableShape]
    total: int


class SectionText(Shape):
    """A section as it was written."""

    cards: list[str]
    text: str
    title: str
    todo: str


class ServerProblemShape(Shape):
    """Why a server could not be asked."""

    hint: str
    message: str


class ServerResourceShape(Shape):
    """Something a server lets one read."""

    name: str
    uri: str


class ServerToolShape(Shape):
    """One tool of a server, by what a person has seen of it."""

    diff: str
    may_change: bool
    name: str
    says: Literal["allow", "ask", "deny"] | str
    standing: Literal["allowed", "new", "changed", "gone"] | str


class Session(Shape):
    """Who a browser is."""

    expires_ms: int | None
    person: str
    scope: Literal["read", "steer", "approve", "admin"] | str
    token_id: str


class SettingsShape(Shape):
    """Where things are, and how well code is contained; nothing secret."""

    cache: str
    folder: str
    git_email: str
    git_name: str
    private_hosts: list[str]
    state_directory: str
    team_rules: str | None
    tier: Literal["A", "B", "C", "D"] | str
    version: str


class ShownFinding(Shape):
    """What came of a finding's code just now."""

    error: str
    seconds: float
    standing: Literal["shown", "not shown", "mended"] | str


class ShownTools(Shape):
    """What a person was shown."""

    fingerprint: str


class SkillShape(Shape):
    """Something the folder has written down how to do."""

    body: str
    description: str
    name: str


class Skills(Shape):
    """Every skill there is here."""

    skills: list[SkillShape]


class SpentOnDay(Shape):
    """One day (UTC)."""

    cache_read_tokens: int
    calls: int
    day: str
    input_tokens: int
    microdollars: int
    other_money: dict[str, str]
    output_tokens: int
    unknown_calls: int
    unpriced_calls: int


class SpentOnModel(Shape):
    """One model."""

    cache_read_tokens: int
    calls: int
    input_tokens: int
    microdollars: int
    model: str
    other_money: dict[str, str]
    output_tokens: int
    unknown_calls: int
    unpriced_calls: int


class SpentOnRun(Shape):
    """One run; an empty name is what was asked outside of runs."""

    cache_read_tokens: int
    calls: int
    goal: str
    input_tokens: int
    microdollars: int
    other_money: dict[str, str]
    output_tokens: int
    run: str
    unknown_calls: int
    unpriced_calls: int


class StartSession(Shape):
    """What a browser brings."""

    one_time: str


class StatementShape(Shape):
    """One line of the audit."""

    access: Literal["read", "write"] | str
    at: str
    bytes: int | None
    columns: list[str]
    connection: str
    id: int
    notebook: str
    outcome: str
    person: str
    price: str
    rows: int | None
    run: str
    seconds: float
    sent_bytes: int | None
    statement: str
    status: int | None
    tables: list[str]
    why: str


class StatementsShape(Shape):
    """What was sent, the latest first."""

    statements: list[StatementShape]


class StoredEntry(Shape):
    """A file or folder of a connection."""

    bytes: int | None
    is_folder: bool
    modified: str
    name: str
    path: str


class StoredListing(Shape):
    """What is at a path of a connection."""

    entries: list[StoredEntry]
    fitting: int
    is_cut: bool
    is_folder: bool
    path: str
    total: int


class TableProfileShape(Shape):
    """What a table is."""

    columns: list[ProfiledColumn]
    connection: str
    facts: list[str]
    is_counted: bool
    looked_at: int
    remarks: list[ProfileRemark]
    rows: int
    sampling: str
    table: str


class TableShape(Shape):
    """One table or view."""

    columns: list[ColumnShape]
    comment: str
    foreign_keys: list[ForeignKeyShape]
    kind: Literal["table", "view"] | str
    qualified: str
    rows: int | None


class TakeTaskBody(Shape):
    """The person who asks does it themselves; no agent does."""

    op: Literal["take"]
    task: str


class TaskInput(Shape):
    """One piece of work with one result."""

    id: str
    title: str
    after: list[str] = []
    alternatives: list[AlternativeInput] = []
    checks: list[CheckInput] = []
    note: str = ""
    person_decides: bool = False
    role: str = "coder"
    status: Literal["planned", "running", "done", "failed", "dropped"] = "planned"
    taken_by: str = ""
    todo: str = ""


class TaskOutput(Shape):
    """One piece of work with one result."""

    id: str
    title: str
    after: list[str] = []
    alternatives: list[AlternativeOutput] = []
    checks: list[CheckOutput] = []
    note: str = ""
    person_decides: bool = False
    role: str = "coder"
    status: Literal["planned", "running", "done", "failed", "dropped"] | str = "planned"
    taken_by: str = ""
    todo: str = ""


class TaskWork(Shape):
    """One task, and who worked on it."""

    agents: list[str]
    gets_from: list[str]
    hands_over: HandOff | None
    hands_to: list[str]
    microdollars: int
    role: str
    taken_by: str
    task: str
    tokens: int


class Timeline(Shape):
    """Events of one run, in order."""

    events: list[RecordedEvent]
    last: int


class TokenLine(Shape):
    """A token, without itself."""

    created_ms: int
    expires_ms: int | None
    id: str
    is_own: bool
    last_used_ms: int | None
    name: str
    person: str
    scope: Literal["read", "steer", "approve", "admin"] | str


class TokenList(Shape):
    """Every token that counts."""

    tokens: list[TokenLine]


class ToolServerShape(Shape):
    """One server; never a secret."""

    files: Literal["none", "read", "write"] | str
    fingerprint: str
    hosts: list[str]
    missing_secrets: list[str]
    name: str
    packages: list[str]
    place: str
    private_hosts: bool
    problem: ServerProblemShape | None
    projects: list[str]
    protocol: str
    resources: list[ServerResourceShape]
    software: list[str]
    tools: list[ServerToolShape]
    url: str
    was_asked: bool


class ToolServersShape(Shape):
    """Every server, and those the folder proposes."""

    proposed: list[ToolServerShape]
    servers: list[ToolServerShape]


class TriedCellShape(Shape):
    """A cell that ran in the branch."""

    cell: str
    error: str
    name: str
    status: str


class TriedCheckShape(Shape):
    """Something that had to hold."""

    check: str
    detail: str
    has_passed: bool


class TriedShape(Shape):
    """What opening a connection showed."""

    hint: str
    is_open: bool
    notices: list[str]
    problem: str
    seconds: float
    server: str
    tables: int | None


class TriedVariableShape(Shape):
    """A variable that is another one in the branch than in the notebook."""

    after: str
    before: str
    name: str
    type: str


class UndoBody(Shape):
    """What is taken back: one change, or all of them."""

    before: str | None = None
    step: int | None = None


class UndoEditsBody(Shape):
    """How long it may take."""

    wait_seconds: float = 0


class UndoneShape(Shape):
    """What was taken back."""

    by: Literal["checkpoint", "replay", "cells", "file"] | str | None
    cells: list[str]
    kept: list[str]
    run: str
    turns: list[int]
    why: str


class Usage(Shape):
    """What was used since a day."""

    by_day: list[SpentOnDay]
    by_model: list[SpentOnModel]
    by_run: list[SpentOnRun]
    latency: list[Latency]
    since: str


class VariableShape(Shape):
    """A bounded look at one variable."""

    kind: str
    name: str
    text: str
    type: str


class Variables(Shape):
    """What the cells have defined."""

    is_fresh: bool
    variables: list[VariableShape]


class VerdictBody(Shape):
    """What a person says about one cell's change."""

    verdict: Literal["accept", "reject"]
    comment: str = ""


class WantedAction(Shape):
    """An action as an agent would want it, e.g. `{"action": "use-network", "host": "example.org", "port": 443}`."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    action: Literal[
        "edit-cells",
        "run-code",
        "read-file",
        "write-file",
        "delete-file",
        "use-network",
        "query-connection",
        "install-package",
        "spend",
        "run-shell",
        "git-commit",
        "call-tool",
        "change-attached",
    ]


class WhatToRun(Shape):
    """Which cells to run; what depends on them runs too."""

    cells: Literal["all", "stale"] | list[str] = "stale"
    wait_seconds: float = 0


class Why(Shape):
    """What would be said to an action, and what decides."""

    basis: str
    describes: str
    says: str
    verdict: Literal["allow", "ask", "deny"] | str
