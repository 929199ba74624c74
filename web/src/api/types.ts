/** What the API says and takes, as the page uses it. Names are the API's own (snake_case). */

export type Scope = "read" | "steer" | "approve" | "admin";

export interface Health {
  status: string;
  version: string;
  api: string;
  page_built: boolean;
  editor_problem: string;
}

export interface Session {
  token_id: string;
  person: string;
  scope: Scope;
  expires_ms: number | null;
}

export interface NewSession extends Session {
  token: string;
}

export interface Token {
  id: string;
  name: string;
  person: string;
  scope: Scope;
  created_ms: number;
  expires_ms: number | null;
  last_used_ms: number | null;
  /** Whether this very tab bears it. */
  is_own: boolean;
}

/** A new token, this once. */
export interface NewToken {
  id: string;
  token: string;
  scope: Scope;
  expires_ms: number | null;
}

// ── runs ──

export type Stage = "queued" | "brief" | "agree" | "build" | "check" | "deliver" | "over";
export type DeliveryStatus = "done" | "partial" | "refused" | "stopped" | "failed";
export type RunStatus = Stage | DeliveryStatus | "waiting" | "paused";
export type TaskStatus = "planned" | "running" | "done" | "failed" | "dropped";
export type Approve = "ask" | "envelope" | "never";

export interface RunLine {
  run: string;
  status: RunStatus;
  standing: string;
  stage: Stage;
  goal: string;
  notebook: string;
  person: string;
  microdollars: number;
  unpriced_tokens: number;
  began_ms: number;
  seconds: number;
  /** How many wait for an answer. */
  questions: number;
}

export interface RunPage {
  runs: RunLine[];
  next: string | null;
}

export interface NewRun {
  goal: string;
  data: string[];
  models: string[];
  budget_usd: string | null;
  approve: Approve;
  is_private: boolean;
  notebook: string | null;
  priority: number;
}

export interface Check {
  test: string;
  says: string;
}

export interface Task {
  id: string;
  title: string;
  todo: string;
  after: string[];
  checks: Check[];
  role: string;
  status: TaskStatus;
  note: string;
}

export interface Plan {
  title: string;
  deliverable: string;
  tasks: Task[];
  assumptions: string[];
  hosts: string[];
  packages: string[];
}

export type PlanEdit =
  | { op: "add"; task: Task }
  | { op: "change"; task: string; title?: string; todo?: string }
  | { op: "drop"; task: string }
  | { op: "retry"; task: string };

export interface Goal {
  words: string;
  notebook: string;
  project: string;
  person: string;
  data: string[];
  models: string[];
  budget_usd: string | null;
  approve: Approve;
  is_private: boolean;
  priority: number;
  continues: string;
}

export interface DeliveredCheck {
  name: string;
  says: string;
  has_passed: boolean;
  detail: string;
}

export interface Delivery {
  status: DeliveryStatus;
  goal: string;
  title: string;
  answer: string;
  summary: string;
  why: string;
  assumptions: string[];
  caveats: string[];
  tasks: { id: string; title: string; status: TaskStatus; note: string }[];
  checks: DeliveredCheck[];
  problems: string[];
  notebook: string;
  report: string;
  proof: string;
  microdollars: number;
  tokens: number;
  seconds: number;
  is_price_known: boolean;
}

export interface Question {
  id: string;
  run: string;
  topic: string;
  /** Exactly what will happen. */
  what: string;
  /** `once`, `run`, `always`, `raise`, `price`, `uncounted`, `no`, `resume`, or the choices of a plain question. */
  offers: string[];
  /** Names exactly what is asked about; goes back with the answer. "": none is needed. */
  fingerprint?: string;
  asked_ms?: number;
  answer_with: string;
}

export interface Answer {
  answer: string;
  reach: "once" | "run" | "always" | null;
  fingerprint: string;
  feedback: string;
}

export interface Answered {
  id: string;
  says: string;
}

export interface RunDetail extends Omit<RunLine, "goal" | "questions"> {
  goal: Goal | null;
  note: string;
  plan: Plan | null;
  cell: string;
  waits: string;
  tokens: number;
  questions: Question[];
  steps: number;
  agents: string[];
  /** In words, unknown prices included. */
  cost: string;
  delivery: Delivery | null;
  proof?: Proof | null;
  notebook_is_live: boolean;
}

export interface Proof {
  path: string;
  is_valid: boolean;
  says: string;
}

export interface Noted {
  run: string;
  note: string;
}

export type CellChangeKind = "created" | "edited" | "deleted" | "moved";
export type Review = "open" | "accepted" | "rejected";

export interface CellChange {
  cell: string;
  name: string;
  kind: CellChangeKind;
  before: string | null;
  after: string | null;
  review: Review;
  comment: string;
}

export interface Change {
  number: number;
  agent: string;
  is_undone: boolean;
  at_ms: number | null;
  cells: CellChange[];
}

export interface Artifact {
  name: string;
  kind: "notebook" | "report" | "proof";
  bytes: number;
}

export interface Undone {
  run: string;
  turns: number[];
  cells: string[];
  kept: string[];
  why: string;
}

/** A yes that lasts. */
export interface Grant {
  id: string;
  covers: string;
  project: string;
  reach: "once" | "run" | "always";
  run: string;
  by: string;
  door: string;
  at_ms: number;
  expires_ms: number | null;
}

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
  "task-changed": { task: string; title: string; state: TaskStatus; note: string };
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

export interface Timeline {
  events: Recorded[];
  last: number;
}

// ── notebooks, models, the house ──

export interface Kernel {
  run: string | null;
  notebook: string;
  pid: number;
  memory_mb: number;
  cpu_seconds: number;
  state: string;
}

export interface NotebookLine {
  id: string;
  path: string;
  run: string | null;
  is_live: boolean;
  cells: number;
  kernel: Pick<Kernel, "pid" | "memory_mb" | "cpu_seconds" | "state"> | null;
}

export interface NotebookCell {
  id: string;
  name: string;
  code: string;
  version: number;
  status: string;
  ms: number | null;
  error: string | null;
  error_line: number | null;
  traceback: string;
  output: { mimetype: string; text: string } | null;
  console: string;
  is_stale: boolean;
  defines: string[];
  refers: string[];
}

export interface Notebook {
  id: string;
  path: string;
  run: string | null;
  is_live: boolean;
  version: number;
  cells: NotebookCell[];
}

export interface Kernels {
  kernels: Kernel[];
  queue: { waiting: number; at_work: number };
  questions_waiting: number;
}

export interface Latency {
  model: string;
  p50_ms: number;
  p95_ms: number;
  calls: number;
  failures: number;
}

export interface Spent {
  microdollars: number;
  input_tokens: number;
  output_tokens: number;
  calls: number;
}

export interface Usage {
  by_day: (Spent & { day: string })[];
  by_model: (Spent & { model: string })[];
  by_run: (Spent & { run: string; goal: string })[];
  latency: Latency[];
}

export interface FileEntry {
  name: string;
  path: string;
  is_folder: boolean;
  bytes: number;
  changed_ms: number;
}

export interface Onboarding {
  is_first: boolean;
  datasets: { id: string; title: string; files: string[]; question: string }[];
  tutorial: string;
}

export interface Problem {
  kind: string;
  message: string;
  hint: string;
}
