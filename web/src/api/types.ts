/** What the API says and takes: its own document (`clients/typescript`, generated) under the names the page uses. Only what the
 * document leaves open is said here: the events of a journal. */

import type { components } from "cellwright-client";

type Schemas = components["schemas"];
type Narrowed<Shape, Open extends Partial<Record<keyof Shape, unknown>>> = Omit<Shape, keyof Open> & Open;

export type Health = Schemas["Health"];
export type Session = Schemas["Session"];
export type NewSession = Schemas["NewSession"];
export type Scope = Session["scope"];
export type Token = Schemas["TokenLine"];
export type NewToken = Schemas["CreatedToken"];
export type Problem = Schemas["Problem"];

// ── runs ──

export type Stage = Schemas["RunLine"]["stage"];
export type DeliveryStatus = Schemas["Delivery"]["status"];
export type RunStatus = Schemas["RunLine"]["status"];
export type TaskStatus = Task["status"];
export type Approve = Schemas["NewRun"]["approve"];
export type Effort = Schemas["NewRun"]["effort"];

export type RunLine = Schemas["RunLine"];
export type RunPage = Schemas["RunLines"];
export type RunDetail = Schemas["RunDetail"];
export type ResearchDetail = Schemas["ResearchDetail"];
export type EvidenceCard = ResearchDetail["cards"][number];
/** But for the key by which a program may say it twice, and what the page names nothing of. */
export type NewRun = Required<Omit<Schemas["NewRun"], "key">>;
export type ResearchBody = Schemas["ResearchBody"];
export type ExtractBody = Schemas["ExtractBody"];
export type Goal = Schemas["Goal"];
export type Plan = Schemas["Plan"];
export type Task = Plan["tasks"][number];
export type Check = Task["checks"][number];
/** Words that are left out stay as they are. */
export type PlanEdit =
  | Schemas["AddTaskBody"]
  | (Pick<Schemas["ChangeTaskBody"], "op" | "task"> & Partial<Schemas["ChangeTaskBody"]>)
  | Schemas["DropTaskBody"]
  | Schemas["RetryTaskBody"]
  | Schemas["TakeTaskBody"]
  | Schemas["HandBackTaskBody"];
/** Who worked on a task, what it cost, and what was handed over. */
export type TaskWork = Schemas["TaskWork"];
export type HandOff = Schemas["HandOff"];
export type Delivery = Schemas["Delivery"];
/** What its review found, as it told of it last. */
export type RunFinding = Schemas["FindingShape"];
export type FindingStanding = RunFinding["standing"];
/** What came of a finding's code just now. */
export type ShownFinding = Schemas["ShownFinding"];
/** What its data raises. */
export type DataQuestion = Schemas["ReviewQuestion"];
export type DeliveredCheck = Schemas["DeliveredCheck"];
export type Question = Schemas["AskedQuestion"];
export type Answer = Required<Schemas["AnswerBody"]>;
export type Answered = Schemas["AnswerTaken"];
export type Proof = Schemas["ProofShape"];
export type Noted = Schemas["RunNote"];
export type Change = Schemas["ChangeShape"];
export type CellChange = Schemas["CellChangeShape"];
export type CellChangeKind = CellChange["kind"];
export type Review = CellChange["review"];
/** What was tried in a branch. */
export type Branch = Schemas["BranchShape"];
export type BranchDecided = Schemas["BranchDecided"];
export type TriedVariable = Schemas["TriedVariableShape"];
export type Artifact = Schemas["Artifact"];
export type Undone = Schemas["UndoneShape"];
export type Redone = Schemas["RedoneShape"];
export type Changes = Schemas["Changes"];
/** A yes that lasts. */
export type Grant = Schemas["GrantShape"];

// ── events ──

export interface EventBodies {
  "run-started": { workflow: string; name: string; version: string };
  "run-recovered": { workflow: string; lost_worker: string; attempt: number };
  "run-forked": { workflow: string; forked_from: string; from_step: number; version: string };
  "run-resumed": { workflow: string; by: string };
  "run-ended": { workflow: string; name: string; outcome: "done" | "failed" | "cancelled" | "dead"; error: string };
  "step-started": { workflow: string; step: number; name: string };
  "step-finished": { workflow: string; step: number; name: string; milliseconds: number; effect: string };
  "step-erred": { workflow: string; step: number; name: string; milliseconds: number; error: string };
  "effect-in-doubt": { workflow: string; name: string; effect: string; question: string };
  "question-asked": { workflow: string; question: string; topic: string; text: string };
  "question-answered": { question: string; answer: string; by: string };
  "question-withdrawn": { question: string; reason: string };
  "task-changed": { task: string; title: string; state: TaskStatus; note: string; agent: string };
  "cost-recorded": {
    what: string;
    microdollars: number;
    input_tokens: number;
    output_tokens: number;
    seconds: number;
    workflow: string;
    is_price_known: boolean;
  };
  "audit-recorded": {
    run: string;
    person: string;
    action_kind: string;
    what: string;
    verdict: string;
    basis: string;
    result: string;
    agent: string;
    role: string;
    action: string;
    reason: string;
    detail: string;
    call: string;
  };
  "goal-set": { goal: Goal };
  "stage-entered": { stage: Stage; note: string };
  "plan-adopted": { plan: Plan };
  "cell-reported": { name: string; status: string; seconds: number };
  "run-waiting": { why: string };
  "handed-off": { handed: HandOff; to: string[] };
  "files-not-kept": { text: string };
  "document-extracted": { document: string; number: number; of: number; rows: number; marked: number; skipped: string; microdollars: number };
  "evidence-noted": { card: EvidenceCard };
  "research-read": { contents: { sources: ResearchDetail["sources"]; skipped: string[] } };
  "research-written": { report: NonNullable<ResearchDetail["report"]> };
  "card-rejected": { card: string; by: string };
  "alternatives-compared": { comparison: Delivery["comparisons"][number] };
  "finding-judged": { number: number; judged: Delivery["reviewed"][number]; task: string };
  "check-disputed": {
    test: string;
    why: string;
    instead: string;
    decided: "keep" | "drop" | "replace";
    by: string;
    words: string;
    tokens: number;
    microdollars: number;
  };
  "questions-raised": { questions: DataQuestion[] };
  "run-delivered": { delivery: Delivery };
  "change-reviewed": { change: string; cell: string; verdict: "accepted" | "rejected"; comment: string; by: string };
  "host-visited": { host: string; verdict: string; bytes_in: number; bytes_out: number; milliseconds: number };
  "run-carried-over": { run: string; text: string };
  "agent-spoke": { workflow: string; text: string };
  "prompt-stored": { call: string; prompt: string; tokens: number };
  "artifact-written": { name: string; text: string; by: string };
  "person-said": { by: string; text: string };
  "stop-asked": { by: string; reason: string };
  "pause-asked": { by: string };
  "unpause-asked": { by: string };
  /** A branch, of which `/branches` says more. */
  "trial-record": { branch: string };
  "branch-dropped": { branch: string; by: string };
  fact: { topic: string; subject: string; text: string; numbers: Record<string, number> };
}

export type EventKind = keyof EventBodies;

/** One event of a run's journal; a union told apart by `kind`. */
export type Recorded = {
  [Kind in EventKind]: {
    stream: string;
    sequence: number;
    at_ms: number;
    kind: Kind;
    key: string;
    event: EventBodies[Kind];
    link: string;
  };
}[EventKind];

/** A piece of an answer that is being made: what stands from this character on. */
export interface DraftPiece {
  section: number;
  kind: "words" | "code" | "call";
  call: number;
  title: string;
  at: number;
  text: string;
}

/** What changed of the answers that are being made; comes between events and has no id. */
export interface DraftChanges {
  /** Everything there is, as told to whoever connects. */
  is_first: boolean;
  drafts: { agent: string; step: number; draft: string; is_done: boolean; sections: DraftPiece[] }[];
  over: string[];
}

export type Timeline = Narrowed<Schemas["Timeline"], { events: Recorded[] }>;

// ── notebooks, models, the house ──

export type Notebook = Schemas["NotebookDetail"];
export type NotebookCell = Schemas["CellShape"];
export type Kernel = Schemas["KernelLine"];
export type Kernels = Schemas["Kernels"];
export type Latency = Schemas["Latency"];
export type Usage = Schemas["Usage"];
/** One sum; calls whose price nobody knows are counted apart, never as 0. */
export type Spent = Omit<Schemas["SpentOnDay"], "day">;
export type FileEntry = Schemas["FileEntry"];
export type Onboarding = Schemas["Onboarding"];

// ── tool servers ──

export type ToolServer = Schemas["ToolServerShape"];
export type NewToolServer = Partial<Schemas["NewToolServer"]>;
export type ServerTool = Schemas["ServerToolShape"];

// ── connections ──

export type Connections = Schemas["ConnectionsShape"];
export type DataConnection = Schemas["ConnectionShape"];
export type SourceKind = Schemas["KindShape"];
export type NewConnection = Schemas["NewConnection"];
/** What opening a connection showed. */
export type TriedConnection = Schemas["TriedShape"];
export type DataSchema = Schemas["SchemaShape"];
export type SchemaTable = Schemas["TableShape"];
export type SchemaColumn = Schemas["ColumnShape"];
export type FirstRows = Schemas["RowsShape"];
/** What is at a path of a bucket or file server. */
export type StoredListing = Schemas["StoredListing"];
export type StoredEntry = Schemas["StoredEntry"];
export type FileProfile = Schemas["FileProfileShape"];
export type TableProfile = Schemas["TableProfileShape"];
export type ProfiledColumn = Schemas["ProfiledColumn"];
/** What an API connection allows, and what its document lists. */
export type ApiContents = Schemas["ApiShape"];
export type ApiOperation = Schemas["OperationShape"];
/** One line of the audit. */
export type SentStatement = Schemas["StatementShape"];

// ── how the house is set up ──

export type Models = Schemas["ModelsList"];
export type Model = Schemas["ModelShape"];
export type Provider = Schemas["ProviderShape"];
export type Role = Schemas["RoleShape"];
export type Skill = Schemas["SkillShape"];
export type Rules = Schemas["RulesShape"];
export type Saying = Rules["rules"][number]["says"];
/** What an agent may want to do. */
export type WantedAction = Schemas["WantedAction"];
export type Why = Schemas["Why"];
export type Findings = Schemas["Findings"];
export type DoctorFinding = Schemas["DoctorFinding"];
export type Finding = Findings["findings"][number];
export type Tier = Findings["tier"];
export type HouseSettings = Schemas["SettingsShape"];
