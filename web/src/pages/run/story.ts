/** A run as its journal tells it: one pure fold over the events, and what of it is worth a line. */

import type {
  DataQuestion,
  Delivery,
  EventBodies,
  Goal,
  Plan,
  Recorded,
  RunFinding,
  Stage,
  TaskStatus,
} from "../../api/types";
import { answerWords, replyOf } from "../../parts/answer-words";

export interface CellRan {
  name: string;
  status: string;
  seconds: number;
}

export type EntryBody =
  | { kind: "goal"; words: string; isNew: boolean }
  | { kind: "stage"; stage: Stage; note: string }
  | { kind: "plan"; title: string; tasks: number }
  | { kind: "task"; task: string; title: string; state: TaskStatus; note: string }
  | {
      kind: "thought";
      says: string;
      model: string;
      milliseconds: number | null;
      tokens: number;
      microdollars: number;
      /** The run or the agent ended in the middle of it. */
      isCut: boolean;
    }
  | { kind: "action"; audit: EventBodies["audit-recorded"] }
  | { kind: "cells"; cells: CellRan[] }
  | { kind: "step"; name: string; milliseconds: number | null }
  | { kind: "question"; question: string; topic: string; text: string; answer: string; by: string; isOpen: boolean }
  | { kind: "said"; by: string; text: string; cell: string | null }
  | { kind: "finding"; finding: RunFinding }
  | { kind: "note"; text: string; isTrouble: boolean }
  | { kind: "delivery"; delivery: Delivery };

export interface Entry {
  /** Stays the same while the entry grows. */
  id: string;
  atMs: number;
  /** The workflow it is about: an agent's, or the run's own. */
  who: string;
  body: EntryBody;
}

/** How far an agent's record has come, each as the number of a step: 1, 2, 3 … */
export interface RecordedSteps {
  begun: number;
  answered: number;
  /** The answer's words are told. */
  spoken: number;
  /** Something was done of what it wants. */
  acted: number;
}

export interface Story {
  run: string;
  last: number;
  beganMs: number;
  lastMs: number;
  /** 0: not over. */
  endedMs: number;
  goal: Goal | null;
  stage: Stage;
  note: string;
  plan: Plan | null;
  waits: string;
  /** What a person wants of it and it has not come to yet. */
  wanted: "" | "pause" | "stop";
  /** The hard cap as it stands after raises; null: none. */
  capUsd: number | null;
  microdollars: number;
  tokens: number;
  unpricedTokens: number;
  delivery: Delivery | null;
  /** Of its review, each as it was told last; by its number. */
  findings: Readonly<Record<number, RunFinding>>;
  /** How often a research has told of documents, evidence or its text. */
  researched: number;
  dataQuestions: readonly DataQuestion[];
  /** "": still going, or taken up again. */
  ended: "" | EventBodies["run-ended"]["outcome"];
  entries: readonly Entry[];
  /** Which role an agent has, by its workflow. */
  roles: Readonly<Record<string, string>>;
  /** What each agent is busy with. */
  busy: Readonly<Record<string, string>>;
  /** Of each agent. */
  steps: Readonly<Record<string, RecordedSteps>>;
  openQuestions: readonly string[];
  /** Goes up whenever the notebook may have been changed by an agent. */
  changes: number;
  /** Goes up with every cell that ran. */
  ran: number;
  /** Goes up with every branch that was tried. */
  branches: number;
  /** Goes up with everything that a task leaves to others. */
  handed: number;
}

export function emptyStory(run: string): Story {
  return {
    run,
    last: 0,
    beganMs: 0,
    lastMs: 0,
    endedMs: 0,
    goal: null,
    stage: "queued",
    note: "",
    plan: null,
    waits: "",
    wanted: "",
    capUsd: null,
    microdollars: 0,
    tokens: 0,
    unpricedTokens: 0,
    delivery: null,
    findings: {},
    researched: 0,
    dataQuestions: [],
    ended: "",
    entries: [],
    roles: {},
    busy: {},
    steps: {},
    openQuestions: [],
    changes: 0,
    ran: 0,
    branches: 0,
    handed: 0,
  };
}

type Draft = Omit<Story, "entries" | "roles" | "busy" | "steps" | "openQuestions" | "findings"> & {
  entries: Entry[];
  roles: Record<string, string>;
  busy: Record<string, string>;
  steps: Record<string, RecordedSteps>;
  openQuestions: string[];
  findings: Record<number, RunFinding>;
};

/** Steps that are told better by what comes of them. */
const MACHINERY = new Set([
  "judge",
  "prepare",
  "see",
  "hear",
  "look",
  "fit",
  "ask",
  "take",
  "keep",
  "budget",
  "find",
  "arrange",
  "show",
]);
const TOLD_BY_ACTIONS = new Set(["tool apply", "tool finish"]);

/** The story after these events; those it knows already change nothing. */
export function tellAll(before: Story, events: readonly Recorded[]): Story {
  const news = events.filter((event) => event.sequence > before.last);
  if (news.length === 0) return before;
  const draft: Draft = {
    ...before,
    entries: [...before.entries],
    roles: { ...before.roles },
    busy: { ...before.busy },
    steps: { ...before.steps },
    openQuestions: [...before.openQuestions],
    findings: { ...before.findings },
  };
  for (const recorded of news) {
    if (recorded.sequence <= draft.last) continue;
    draft.last = recorded.sequence;
    draft.beganMs ||= recorded.at_ms;
    draft.lastMs = recorded.at_ms;
    try {
      tell(draft, recorded);
    } catch {
      // One event that cannot be read must not hide all the others.
      add(draft, recorded, draft.run, {
        kind: "note",
        text: `Event ${recorded.sequence} cannot be shown.`,
        isTrouble: true,
      });
    }
  }
  return draft;
}

function tell(draft: Draft, recorded: Recorded): void {
  switch (recorded.kind) {
    case "task-changed":
      return tellTask(draft, recorded.event, recorded);
    case "step-started":
    case "step-finished":
    case "step-erred":
      return tellStep(draft, recorded);
    case "cost-recorded":
      return tellCost(draft, recorded.event);
    case "audit-recorded":
      return tellAudit(draft, recorded.event, recorded);
    case "question-asked":
    case "question-answered":
    case "question-withdrawn":
      return tellQuestion(draft, recorded);
    case "run-started":
      draft.busy[recorded.event.workflow] = "begins";
      return;
    case "run-ended":
    case "run-recovered":
    case "run-resumed":
    case "run-forked":
      return tellCourse(draft, recorded);
    case "goal-set":
    case "stage-entered":
    case "plan-adopted":
    case "run-delivered":
      return tellWork(draft, recorded);
    case "finding-judged":
    case "questions-raised":
      return tellReview(draft, recorded);
    case "check-disputed":
      return tellNote(draft, recorded, disputed(recorded.event));
    case "cell-reported":
      return tellCell(draft, recorded.event, recorded);
    case "run-waiting":
      draft.waits = recorded.event.why;
      return tellNote(draft, recorded, `Waits: ${recorded.event.why}`);
    case "handed-off": {
      const { handed, to } = recorded.event;
      const names = handed.variables.map((each) => each.name).join(", ");
      draft.handed += 1;
      return tellNote(draft, recorded, `${handed.title} hands over to ${to.join(", ")}${names && `: ${names}`}`);
    }
    case "agent-spoke": {
      const { workflow, text } = recorded.event;
      reach(draft, workflow, (steps) => ({ ...steps, spoken: steps.answered }));
      return tellThought(draft, workflow, recorded, (thought) => ({ ...thought, says: text }));
    }
    case "person-said":
    case "change-reviewed":
    case "pause-asked":
    case "stop-asked":
    case "unpause-asked":
      return tellPerson(draft, recorded);
    case "trial-record":
    case "branch-dropped":
      draft.branches += 1;
      return;
    case "evidence-noted":
    case "research-read":
    case "research-written":
    case "card-rejected":
      draft.researched += 1;
      return;
    case "document-extracted":
    case "files-not-kept":
    case "alternatives-compared":
    case "host-visited":
    case "run-carried-over":
    case "artifact-written":
    case "fact":
      return;
    case "prompt-stored": {
      const [workflow = "", step = "0"] = recorded.event.call.split("#");
      return reach(draft, workflow, (steps) => ({ ...steps, answered: Number(step) }));
    }
    case "effect-in-doubt":
      return add(draft, recorded, recorded.event.workflow, {
        kind: "note",
        text: `${recorded.event.name} may or may not have happened.`,
        isTrouble: true,
      });
    default:
      return assertNever(recorded);
  }
}

type WorkRecorded = Extract<Recorded, { kind: "goal-set" | "stage-entered" | "plan-adopted" | "run-delivered" }>;

/** What it is for, how far it has come, and what it hands over. */
function tellWork(draft: Draft, recorded: WorkRecorded): void {
  switch (recorded.kind) {
    case "goal-set": {
      const { goal } = recorded.event;
      const isNew = draft.goal !== null;
      draft.goal = goal;
      draft.waits = "";
      if (!isNew) draft.capUsd = goal.budget_usd === null ? null : Number(goal.budget_usd);
      return add(draft, recorded, draft.run, { kind: "goal", words: goal.words, isNew });
    }
    case "stage-entered": {
      const { stage, note } = recorded.event;
      const isSame = stage === draft.stage && note === draft.note;
      draft.stage = stage;
      draft.note = note;
      draft.waits = "";
      if (isSame || stage === "queued" || stage === "over") return;
      return add(draft, recorded, draft.run, { kind: "stage", stage, note });
    }
    case "plan-adopted": {
      const { plan } = recorded.event;
      draft.plan = plan;
      return add(draft, recorded, draft.run, { kind: "plan", title: plan.title, tasks: plan.tasks.length });
    }
    case "run-delivered": {
      const { delivery } = recorded.event;
      draft.delivery = delivery;
      draft.waits = "";
      return add(draft, recorded, draft.run, { kind: "delivery", delivery });
    }
    default:
      return assertNever(recorded);
  }
}

const DECIDED = { keep: "kept", drop: "dropped", replace: "replaced" } as const;

/** What became of an acceptance test that a builder thought wrong, in words. */
export function disputed({ test, why, decided, by, words }: EventBodies["check-disputed"]): string {
  const said = words === "" ? "" : ` (${words})`;
  return `${test} was disputed: ${why} It was ${DECIDED[decided]} by ${by === "" ? "nobody" : by}${said}.`;
}

type ReviewRecorded = Extract<Recorded, { kind: "finding-judged" | "questions-raised" }>;

/** What was found when it was looked over. */
function tellReview(draft: Draft, recorded: ReviewRecorded): void {
  if (recorded.kind === "questions-raised") {
    draft.dataQuestions = recorded.event.questions;
    const open = draft.dataQuestions.filter((each) => each.settled === "");
    if (open.length > 0) tellNote(draft, recorded, `The data raises: ${open.map((each) => each.says).join(" ")}`);
    return;
  }
  const { number, judged, task } = recorded.event;
  const before = draft.findings[number];
  const finding = { number, ...judged.finding, standing: judged.standing, error: judged.error, task };
  draft.findings[number] = finding;
  // That it fails as before is no news.
  if (before?.standing !== finding.standing) add(draft, recorded, draft.run, { kind: "finding", finding });
}

type PersonRecorded = Extract<
  Recorded,
  { kind: "person-said" | "change-reviewed" | "pause-asked" | "stop-asked" | "unpause-asked" }
>;

/** What a person says to it, or wants of it. */
function tellPerson(draft: Draft, recorded: PersonRecorded): void {
  const { by } = recorded.event;
  switch (recorded.kind) {
    case "person-said":
      return add(draft, recorded, draft.run, { kind: "said", by, text: recorded.event.text, cell: null });
    case "change-reviewed": {
      const { cell, verdict, comment } = recorded.event;
      draft.changes += 1;
      const text = comment === "" ? verdict : `${verdict}: ${comment}`;
      return add(draft, recorded, draft.run, { kind: "said", by, text, cell });
    }
    case "pause-asked":
      if (draft.wanted === "") draft.wanted = "pause";
      return tellNote(draft, recorded, `${by} wants it to pause before its next step.`);
    case "stop-asked": {
      const why = recorded.event.reason === "" ? "." : `: ${recorded.event.reason}`;
      draft.wanted = "stop";
      return tellNote(draft, recorded, `${by} wants it to stop and to keep everything${why}`);
    }
    case "unpause-asked":
      draft.wanted = "";
      return;
    default:
      return assertNever(recorded);
  }
}

function tellNote(draft: Draft, recorded: Recorded, text: string): void {
  add(draft, recorded, draft.run, { kind: "note", text, isTrouble: false });
}

function tellCell(draft: Draft, cell: CellRan, recorded: Recorded): void {
  const last = draft.entries.at(-1);
  draft.ran += 1;
  if (last?.body.kind === "cells" && last.body.cells.length < 60) {
    const cells = [...last.body.cells.filter((each) => each.name !== cell.name), cell];
    draft.entries[draft.entries.length - 1] = { ...last, body: { kind: "cells", cells } };
  } else add(draft, recorded, draft.run, { kind: "cells", cells: [cell] });
}

function tellTask(draft: Draft, event: EventBodies["task-changed"], recorded: Recorded): void {
  if (draft.plan !== null) {
    const tasks = draft.plan.tasks.map((task) =>
      task.id === event.task ? { ...task, status: event.state, note: event.note } : task,
    );
    draft.plan = { ...draft.plan, tasks };
  }
  if (event.state === "planned") return;
  add(draft, recorded, draft.run, {
    kind: "task",
    task: event.task,
    title: event.title,
    state: event.state,
    note: event.note,
  });
}

type StepRecorded = Extract<Recorded, { kind: "step-started" | "step-finished" | "step-erred" }>;

function tellStep(draft: Draft, recorded: StepRecorded): void {
  const { workflow, step, name } = recorded.event;
  if (recorded.kind === "step-erred") {
    add(draft, recorded, workflow, {
      kind: "note",
      text: `${stepWords(name)}: ${recorded.event.error}`,
      isTrouble: true,
    });
    return;
  }
  const milliseconds = recorded.kind === "step-finished" ? recorded.event.milliseconds : null;
  draft.busy[workflow] = milliseconds === null ? stepWords(name) : "";
  if (recorded.kind === "step-finished" && name === "tool apply") draft.changes += 1;
  const verb = name.split(" ", 1)[0] ?? "";
  if (verb === "think") {
    const begun = Number(name.split(" ", 2)[1]);
    reach(draft, workflow, (steps) => ({ ...steps, begun: Math.max(steps.begun, begun) }));
    return tellThinking(draft, recorded, milliseconds);
  }
  if (verb === "tool") reach(draft, workflow, (steps) => ({ ...steps, acted: steps.answered }));
  if (MACHINERY.has(verb) || TOLD_BY_ACTIONS.has(name)) return;
  grow(draft, `step ${workflow}#${step}`, recorded, workflow, { kind: "step", name: stepWords(name), milliseconds });
}

function reach(draft: Draft, workflow: string, change: (steps: RecordedSteps) => RecordedSteps): void {
  draft.steps[workflow] = change(draft.steps[workflow] ?? { begun: 0, answered: 0, spoken: 0, acted: 0 });
}

const FRESH_THOUGHT = {
  kind: "thought",
  says: "",
  model: "",
  milliseconds: null,
  tokens: 0,
  microdollars: 0,
  isCut: false,
} as const;

function tellThinking(draft: Draft, recorded: StepRecorded, milliseconds: number | null): void {
  const { workflow, step } = recorded.event;
  const id = `thought ${workflow}#${step}`;
  const known = find(draft, id);
  const body = known?.body.kind === "thought" ? known.body : FRESH_THOUGHT;
  grow(draft, id, recorded, workflow, { ...body, milliseconds, isCut: false });
}

/** Whoever ended does not think any more. */
function cutThoughts(draft: Draft, workflow: string): void {
  for (let at = draft.entries.length - 1; at >= Math.max(0, draft.entries.length - REACH); at -= 1) {
    const entry = draft.entries[at];
    if (entry?.body.kind !== "thought" || entry.body.milliseconds !== null) continue;
    if (entry.who === workflow || workflow === draft.run)
      draft.entries[at] = { ...entry, body: { ...entry.body, isCut: true } };
  }
}

type Thought = Extract<EntryBody, { kind: "thought" }>;

/** What is told right after a thought belongs to it. */
function tellThought(
  draft: Draft,
  workflow: string,
  recorded: Recorded | null,
  change: (thought: Thought) => Thought,
): void {
  for (let at = draft.entries.length - 1; at >= Math.max(0, draft.entries.length - 40); at -= 1) {
    const entry = draft.entries[at];
    if (entry?.who !== workflow) continue;
    if (entry.body.kind !== "thought" || (recorded !== null && entry.body.says !== "")) break;
    draft.entries[at] = { ...entry, body: change(entry.body) };
    return;
  }
  if (recorded !== null) add(draft, recorded, workflow, change({ ...FRESH_THOUGHT, milliseconds: 0 }));
}

function tellCost(draft: Draft, cost: EventBodies["cost-recorded"]): void {
  const tokens = cost.input_tokens + cost.output_tokens;
  draft.microdollars += cost.microdollars;
  draft.tokens += tokens;
  if (!cost.is_price_known) draft.unpricedTokens += tokens;
  if (cost.workflow === "") return;
  tellThought(draft, cost.workflow, null, (thought) => ({
    ...thought,
    model: cost.what,
    tokens: thought.tokens + tokens,
    microdollars: thought.microdollars + cost.microdollars,
  }));
}

function tellAudit(draft: Draft, audit: EventBodies["audit-recorded"], recorded: Recorded): void {
  const who = audit.agent || draft.run;
  if (audit.agent !== "" && audit.role !== "") draft.roles[audit.agent] = audit.role;
  if (audit.agent !== "") reach(draft, audit.agent, (steps) => ({ ...steps, acted: steps.answered }));
  // What waits for a person is told as the question it is.
  if (audit.verdict === "ask" && audit.result === "waiting") return;
  // The code of an edit was just shown as a diff; that it is run needs no second telling.
  if (audit.action_kind === "run-code" && audit.verdict === "allow" && draft.entries.slice(-6).some(isEdit)) return;
  grow(draft, `audit ${audit.call || recorded.sequence}`, recorded, who, { kind: "action", audit });
}

function isEdit(entry: Entry): boolean {
  return entry.body.kind === "action" && entry.body.audit.action_kind === "edit-cells";
}

type QuestionRecorded = Extract<Recorded, { kind: "question-asked" | "question-answered" | "question-withdrawn" }>;

function tellQuestion(draft: Draft, recorded: QuestionRecorded): void {
  const id = `question ${recorded.event.question}`;
  if (recorded.kind === "question-asked") {
    const { workflow, question, topic, text } = recorded.event;
    draft.openQuestions.push(question);
    return add(
      draft,
      recorded,
      workflow,
      { kind: "question", question, topic, text, answer: "", by: "", isOpen: true },
      id,
    );
  }
  draft.openQuestions = draft.openQuestions.filter((each) => each !== recorded.event.question);
  const asked = find(draft, id);
  if (asked?.body.kind !== "question") return;
  if (recorded.kind === "question-answered" && asked.body.topic === "budget")
    draft.capUsd = raisedCap(draft.capUsd, asked.body.text, recorded.event.answer);
  const said =
    recorded.kind === "question-answered"
      ? { answer: answerWords(recorded.event.answer), by: recorded.event.by }
      : { answer: `no longer asked: ${recorded.event.reason}`, by: "" };
  replace(draft, { ...asked, body: { ...asked.body, ...said, isOpen: false } });
}

/** A raise says by how much, its question of which limit: the run's own is the one that stands as high as the cap. */
function raisedCap(capUsd: number | null, asked: string, answer: string): number | null {
  const limit = /^Use more than ([\d.]+) USD per run \(/.exec(asked)?.[1];
  if (capUsd === null || limit === undefined || Number(limit) !== capUsd) return capUsd;
  const reply = replyOf(answer);
  return reply?.["says"] === "raise" ? Number((capUsd + Number(reply["more"])).toFixed(6)) : capUsd;
}

type CourseRecorded = Extract<Recorded, { kind: "run-ended" | "run-recovered" | "run-resumed" | "run-forked" }>;

function tellCourse(draft: Draft, recorded: CourseRecorded): void {
  const { workflow } = recorded.event;
  const isRun = workflow === draft.run;
  if (recorded.kind === "run-ended") {
    delete draft.busy[workflow];
    cutThoughts(draft, workflow);
    if (isRun) {
      draft.wanted = "";
      draft.ended = recorded.event.outcome;
      draft.endedMs = recorded.at_ms;
    }
    if (recorded.event.outcome === "done" || (!isRun && recorded.event.outcome === "cancelled")) return;
    const why = recorded.event.error === "" ? "" : `: ${recorded.event.error}`;
    return add(draft, recorded, workflow, { kind: "note", text: `${recorded.event.outcome}${why}`, isTrouble: true });
  }
  if (!isRun) return;
  draft.ended = "";
  draft.endedMs = 0;
  // What was wanted is kept through a crash; whoever lets a run go on wants it no more.
  if (recorded.kind !== "run-recovered") draft.wanted = "";
  add(draft, recorded, workflow, { kind: "note", text: courseWords(recorded), isTrouble: false });
}

function courseWords(recorded: Exclude<CourseRecorded, { kind: "run-ended" }>): string {
  switch (recorded.kind) {
    case "run-recovered":
      return "Taken up again after a crash.";
    case "run-resumed":
      return recorded.event.by === "" ? "Goes on." : `Goes on, said ${recorded.event.by}.`;
    case "run-forked":
      return `Goes on from the run ${recorded.event.forked_from}.`;
    default:
      return assertNever(recorded);
  }
}

// ── entries ──

function add(draft: Draft, recorded: Recorded, who: string, body: EntryBody, id = `event ${recorded.sequence}`): void {
  draft.entries.push({ id, atMs: recorded.at_ms, who, body });
}

function grow(draft: Draft, id: string, recorded: Recorded, who: string, body: EntryBody): void {
  const known = find(draft, id);
  if (known === undefined) add(draft, recorded, who, body, id);
  else replace(draft, { ...known, body });
}

/** Entries that grow are among the latest; a long history is not searched. */
const REACH = 400;

function find(draft: Draft, id: string): Entry | undefined {
  for (let at = draft.entries.length - 1; at >= Math.max(0, draft.entries.length - REACH); at -= 1)
    if (draft.entries[at]?.id === id) return draft.entries[at];
  return undefined;
}

function replace(draft: Draft, entry: Entry): void {
  const at = draft.entries.findLastIndex((each) => each.id === entry.id);
  if (at >= 0) draft.entries[at] = entry;
}

const TOOL_WORDS: Record<string, string> = { apply: "changes cells", finish: "hands over" };

/** A step's name in a person's words. */
export function stepWords(name: string): string {
  const [verb = "", ...rest] = name.split(" ");
  switch (verb) {
    case "think":
      return "thinks";
    case "tool":
      return TOOL_WORDS[rest.join(" ")] ?? `uses ${rest.join(" ")}`;
    case "ask":
      return "waits for an answer";
    case "look":
      return rest.length > 1 ? name : "looks at the notebook";
    case "hear":
      return "listens";
    case "check":
      return /^[\d.]+$/.test(rest.join("")) ? "checks the notebook from scratch" : name;
    default:
      return name;
  }
}

/** An agent's name for people: its role if that is known. */
export function agentName(story: Story, who: string): string {
  if (who === story.run || who === "") return "Cellwright";
  const number = /agent:(\d+)$/.exec(who)?.[1];
  return story.roles[who] ?? (number === undefined ? "agent" : `agent ${number}`);
}

export function assertNever(value: never): never {
  throw new Error(`Unknown: ${JSON.stringify(value)}`);
}
