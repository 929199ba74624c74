// What a run's stream adds up to as lines a person reads: what, when, who, which model, what it cost. Pure.
import type { EventBodies, Recorded } from "../../api/types";
import { type Fields, answerWords } from "../../parts/answer-words";
import { dollars } from "../../parts/words";
import { STAGES, capital, stepWords } from "./timeline-words";

export type Family = "milestone" | "agent" | "cell" | "person" | "trouble" | "detail";
export type Tone = "plain" | "good" | "bad" | "ask" | "person" | "busy";

export interface Line {
  readonly sequence: number;
  readonly at_ms: number;
  readonly family: Family;
  readonly tone: Tone;
  readonly what: string;
  readonly detail: string;
  /** Whose work it is, as the journal names it; empty: the run's own. */
  readonly workflow: string;
  readonly model: string;
  readonly microdollars: number | null;
  readonly tokens: number;
  readonly milliseconds: number | null;
  /** The step it tells of; null: none. */
  readonly step: number | null;
  /** Of a line that stands for several cells. */
  readonly cells: readonly CellRun[];
}

export interface CellRun {
  readonly name: string;
  readonly outcome: string;
  readonly seconds: number;
}

export interface Timeline {
  readonly run: string;
  readonly lines: readonly Line[];
  readonly last: number;
  /** What each agent is, once it has been told. */
  readonly roles: ReadonlyMap<string, string>;
  /** Where the line of a step stands that has begun. */
  readonly open: ReadonlyMap<string, number>;
  readonly microdollars: number;
  readonly is_price_known: boolean;
}

export function emptyTimeline(run: string): Timeline {
  return { run, lines: [], last: 0, roles: new Map(), open: new Map(), microdollars: 0, is_price_known: true };
}

/** One batch of events more; those already seen are left out. */
export function extend(before: Timeline, events: readonly Recorded[]): Timeline {
  const fresh = events.filter((each) => each.sequence > before.last);
  if (fresh.length === 0) return before;
  const draft: Draft = {
    run: before.run,
    lines: [...before.lines],
    roles: new Map(before.roles),
    open: new Map(before.open),
    microdollars: before.microdollars,
    is_price_known: before.is_price_known,
  };
  for (const each of fresh) take(draft, each);
  return { ...draft, last: fresh[fresh.length - 1]?.sequence ?? before.last };
}

/** Who did it, for a person. */
export function agentName(timeline: Pick<Timeline, "run" | "roles">, workflow: string): string {
  if (workflow === "") return "";
  if (workflow === timeline.run) return timeline.roles.get(`${timeline.run}/analyst`) ?? "";
  const number = workflow.includes(":") ? (workflow.split(":").pop() ?? "") : "";
  return `${timeline.roles.get(workflow) ?? "agent"} ${number}`.trim();
}

interface Draft {
  run: string;
  lines: Line[];
  roles: Map<string, string>;
  open: Map<string, number>;
  microdollars: number;
  is_price_known: boolean;
}

function text(event: Fields, name: string): string {
  const value = event[name];
  return typeof value === "string" ? value : "";
}

function amount(event: Fields, name: string): number {
  const value = event[name];
  return typeof value === "number" ? value : 0;
}

function line(recorded: Recorded, family: Family, tone: Tone, what: string, more: Partial<Line> = {}): Line {
  return {
    sequence: recorded.sequence,
    at_ms: recorded.at_ms,
    family,
    tone,
    what,
    detail: "",
    workflow: text(recorded.event, "workflow"),
    model: "",
    microdollars: null,
    tokens: 0,
    milliseconds: null,
    step: null,
    cells: [],
    ...more,
  };
}

function take(draft: Draft, recorded: Recorded): void {
  const event: Fields = recorded.event;
  switch (recorded.kind) {
    case "step-started":
      return begin(draft, recorded);
    case "step-finished":
    case "step-erred":
      return finish(draft, recorded);
    case "cost-recorded":
      return pay(draft, recorded);
    case "cell-reported":
      return cell(draft, recorded.event, recorded);
    case "agent-spoke":
      return says(draft, recorded.event, recorded);
    case "audit-recorded":
      return audit(draft, recorded);
    case "task-changed":
      if (text(event, "state") !== "planned") draft.lines.push(taskLine(recorded));
      return;
    default: {
      const found = plainLine(draft, recorded);
      if (found !== null) draft.lines.push(found);
    }
  }
}

// ── steps ──

const SHOWN_STEPS = new Set(["think", "tool", "check", "deliver", "make", "read"]);

function begin(draft: Draft, recorded: Recorded): void {
  const name = text(recorded.event, "name");
  const [verb = "", ...rest] = name.split(" ");
  const isShown = SHOWN_STEPS.has(verb) || name === "look at the data";
  draft.open.set(stepKey(recorded.event), draft.lines.length);
  draft.lines.push(line(recorded, isShown ? "agent" : "detail", "busy", stepWords(verb, rest.join(" ")), { step: amount(recorded.event, "step") }));
}

function finish(draft: Draft, recorded: Recorded): void {
  const key = stepKey(recorded.event);
  const at = draft.open.get(key);
  draft.open.delete(key);
  const error = text(recorded.event, "error");
  const begun = at === undefined ? undefined : draft.lines[at];
  if (begun === undefined || at === undefined) {
    if (error !== "") draft.lines.push(line(recorded, "trouble", "bad", "Went wrong", { detail: error }));
    return;
  }
  const isWrong = error !== "";
  draft.lines[at] = {
    ...begun,
    family: isWrong ? "trouble" : begun.family,
    tone: isWrong ? "bad" : "plain",
    detail: isWrong ? error : begun.detail,
    milliseconds: amount(recorded.event, "milliseconds"),
  };
}

/** Whoever ended is busy with nothing any more. */
function cutSteps(draft: Draft, workflow: string): void {
  for (const [key, at] of [...draft.open]) {
    const begun = draft.lines[at];
    if (begun === undefined || (begun.workflow !== workflow && workflow !== draft.run)) continue;
    draft.lines[at] = { ...begun, tone: "plain", detail: begun.detail || "cut off" };
    draft.open.delete(key);
  }
}

function stepKey(event: Fields): string {
  return `${text(event, "workflow")}#${amount(event, "step")}`;
}

function pay(draft: Draft, recorded: Recorded): void {
  const event: Fields = recorded.event;
  const isKnown = event["is_price_known"] !== false;
  const cost = isKnown ? amount(event, "microdollars") : null;
  const tokens = amount(event, "input_tokens") + amount(event, "output_tokens");
  draft.microdollars += cost ?? 0;
  draft.is_price_known &&= isKnown;
  const at = lastThought(draft, text(event, "workflow"));
  const thought = at === -1 ? undefined : draft.lines[at];
  const paid = { model: text(event, "what"), microdollars: cost, tokens };
  if (thought !== undefined) draft.lines[at] = { ...thought, ...paid };
  else draft.lines.push(line(recorded, "agent", "plain", "Asked a model", paid));
}

/** The thought a cost or a sentence belongs to: the last of this agent that has no model yet. */
function lastThought(draft: Draft, workflow: string): number {
  for (let at = draft.lines.length - 1; at >= Math.max(0, draft.lines.length - 50); at -= 1) {
    const each = draft.lines[at];
    if (each?.workflow === workflow && each.what === "Thinks") return each.model === "" ? at : -1;
  }
  return -1;
}

// ── what the run and its agents tell ──

function roomLine(recorded: Recorded): Line | null {
  switch (recorded.kind) {
    case "goal-set":
      return line(recorded, "milestone", "person", "Goal", { detail: recorded.event.goal.words });
    case "stage-entered": {
      const { stage, note } = recorded.event;
      // That it is over is told by its end.
      return stage === "over" ? null : line(recorded, "milestone", "plain", STAGES[stage] ?? stage, { detail: note });
    }
    case "plan-adopted":
      return line(recorded, "milestone", "plain", "Plan", { detail: recorded.event.plan.title });
    case "run-waiting":
      return line(recorded, "milestone", "ask", "Waits", { detail: recorded.event.why });
    case "run-delivered": {
      const { status } = recorded.event.delivery;
      return line(recorded, "milestone", status === "done" ? "good" : "ask", "Handed over", { detail: status });
    }
    case "finding-judged": {
      const { standing, finding, error } = recorded.event.judged;
      const tone = standing === "shown" ? "bad" : standing === "mended" ? "good" : "plain";
      const family = standing === "shown" ? "trouble" : "milestone";
      return line(recorded, family, tone, `Finding ${recorded.event.number}: ${standing}`, {
        detail: [finding.claim, finding.found, error].filter(Boolean).join("\n"),
      });
    }
    case "check-disputed": {
      const { test, why, decided, by, words } = recorded.event;
      return line(recorded, "milestone", "person", `${test} disputed: ${decided}`, {
        detail: [why, by, words].filter(Boolean).join("\n"),
      });
    }
    case "handed-off": {
      const { handed, to } = recorded.event;
      return line(recorded, "milestone", "plain", `${handed.title} hands over`, { detail: to.join(", ") });
    }
    case "questions-raised": {
      const open = recorded.event.questions.filter((each) => each.settled === "");
      return line(recorded, "milestone", open.length > 0 ? "ask" : "plain", "What the data raises", {
        detail: recorded.event.questions.map((each) => each.says).join("\n"),
      });
    }
    case "run-carried-over":
      return line(recorded, "milestone", "plain", "Carried over to a new version", { detail: recorded.event.text });
    case "change-reviewed": {
      const { by, verdict, cell: name, comment } = recorded.event;
      return line(recorded, "person", "person", `${by} ${verdict} the change of ${name}`, { detail: comment });
    }
    case "person-said":
      return line(recorded, "person", "person", `${recorded.event.by} said`, { detail: recorded.event.text });
    case "stop-asked":
      return line(recorded, "person", "person", `${recorded.event.by} asked to stop`, { detail: recorded.event.reason });
    case "pause-asked":
      return line(recorded, "person", "person", `${recorded.event.by} paused it`);
    case "unpause-asked":
      // Also told by the answer to its question, or by the run itself.
      return line(recorded, "detail", "person", `${recorded.event.by} let it go on`);
    case "host-visited":
      return line(recorded, "detail", "plain", `Connected to ${recorded.event.host}`, { detail: recorded.event.verdict });
    case "evidence-noted": {
      const { card } = recorded.event;
      return line(recorded, "detail", "plain", "Evidence", { detail: `${card.says} (${card.name}, p. ${card.page})` });
    }
    case "document-extracted": {
      const { document, number, of, rows, skipped, microdollars } = recorded.event;
      const came = skipped === "" ? `${rows} rows` : `skipped, ${skipped}`;
      const spent = microdollars === 0 ? "" : `, ${dollars(microdollars)}`;
      return line(recorded, "detail", "plain", `Document ${number} of ${of}`, { detail: `${document}: ${came}${spent}` });
    }
    case "research-read":
      return line(recorded, "detail", "plain", `Read ${recorded.event.contents.sources.length} documents`);
    case "research-written":
      return line(recorded, "detail", "plain", "Written", { detail: recorded.event.report.title });
    case "card-rejected":
      return line(recorded, "person", "person", `${recorded.event.by} left out evidence`, { detail: recorded.event.card });
    case "files-not-kept":
      return line(recorded, "detail", "plain", "Files", { detail: recorded.event.text });
    case "alternatives-compared":
      return line(recorded, "detail", "plain", "Compared", { detail: recorded.event.comparison.task });
    case "trial-record":
      return line(recorded, "detail", "plain", "Branch tried", { detail: recorded.event.branch });
    case "branch-dropped":
      return line(recorded, "detail", "plain", "Branch dropped", { detail: `${recorded.event.branch}: ${recorded.event.by}` });
    case "fact": {
      const { topic, subject, text: said } = recorded.event;
      return line(recorded, "detail", "plain", capital(topic.replaceAll("-", " ")), { detail: [subject, said].filter(Boolean).join(": ") });
    }
    case "prompt-stored":
    case "artifact-written":
      return null;
    default:
      return line(recorded, "detail", "plain", capital(recorded.kind.replaceAll("-", " ")));
  }
}

function cell(draft: Draft, { name, status, seconds }: EventBodies["cell-reported"], recorded: Recorded): void {
  const ran: CellRun = { name, outcome: status, seconds };
  const before = draft.lines[draft.lines.length - 1];
  const isMore = before?.family === "cell" && before.cells.length < MOST_CELLS;
  const cells = isMore ? [...before.cells, ran] : [ran];
  const failed = cells.filter((each) => each.outcome !== "ok");
  const count = cells.length === 1 ? `Cell ${ran.name}` : `${cells.length} cells ran`;
  const told = line(recorded, "cell", failed.length > 0 ? "bad" : "plain", count, {
    detail: failed.length > 0 ? failed.map((each) => `${each.name}: ${each.outcome}`).join("\n") : names(cells),
    milliseconds: Math.round(1000 * cells.reduce((sum, each) => sum + each.seconds, 0)),
    cells,
  });
  if (isMore) draft.lines[draft.lines.length - 1] = { ...told, sequence: before.sequence, at_ms: before.at_ms };
  else draft.lines.push(told);
}

/** In one line; more begin another. */
const MOST_CELLS = 100;

function names(cells: readonly CellRun[]): string {
  const shown = cells.slice(0, 6).map((each) => each.name || "unnamed");
  return cells.length > shown.length ? `${shown.join(", ")} and ${cells.length - shown.length} more` : shown.join(", ");
}

function says(draft: Draft, { workflow, text: said }: EventBodies["agent-spoke"], recorded: Recorded): void {
  for (let at = draft.lines.length - 1; at >= Math.max(0, draft.lines.length - 20); at -= 1) {
    const each = draft.lines[at];
    if (each?.workflow === workflow && each.what === "Thinks" && each.detail === "") {
      draft.lines[at] = { ...each, detail: said };
      return;
    }
  }
  draft.lines.push(line(recorded, "agent", "plain", "Says", { detail: said, workflow }));
}

// ── what was judged, and the rest ──

function audit(draft: Draft, recorded: Recorded): void {
  const event: Fields = recorded.event;
  const agent = text(event, "agent");
  const role = text(event, "role");
  if (agent !== "" && role !== "") draft.roles.set(agent, role);
  const verdict = text(event, "verdict");
  const [title = "", ...body] = text(event, "what").split("\n");
  const isRefused = verdict === "deny" || text(event, "result").startsWith("refused");
  // A call is told when it begins, and again when it has ended.
  if (!isRefused && ["", "unknown", "waiting"].includes(text(event, "result"))) return;
  const detail = [body.join("\n"), text(event, "reason"), `${verdict}: ${text(event, "basis")}`].filter(Boolean).join("\n");
  draft.lines.push(
    line(recorded, isRefused ? "trouble" : "detail", isRefused ? "bad" : "plain", title.replace(/:$/, ""), { detail, workflow: agent }),
  );
}

const TASK_TONES: Readonly<Record<string, Tone>> = { running: "busy", done: "good", failed: "bad", dropped: "plain" };

function taskLine(recorded: Recorded): Line {
  const state = text(recorded.event, "state");
  const verbs: Readonly<Record<string, string>> = { running: "Task began", done: "Task done", failed: "Task failed", dropped: "Task dropped" };
  const tone = TASK_TONES[state] ?? "plain";
  const note = text(recorded.event, "note");
  const detail = [text(recorded.event, "title"), note].filter(Boolean).join("\n");
  return line(recorded, state === "failed" ? "trouble" : "milestone", tone === "busy" ? "plain" : tone, verbs[state] ?? state, { detail });
}

function plainLine(draft: Draft, recorded: Recorded): Line | null {
  const event: Fields = recorded.event;
  const workflow = text(event, "workflow");
  switch (recorded.kind) {
    case "run-started":
      return workflow === draft.run
        ? line(recorded, "milestone", "plain", "Began")
        : line(recorded, "agent", "plain", "An agent begins");
    case "run-ended":
      cutSteps(draft, workflow);
      return endLine(draft, recorded);
    case "run-recovered":
      return line(recorded, "trouble", "ask", "Taken up again after a crash", { detail: `Attempt ${amount(event, "attempt")}; nothing that was finished is done twice.` });
    case "run-forked":
      return line(recorded, "milestone", "plain", "Goes on from another run", { detail: `${text(event, "forked_from")}, after step ${amount(event, "from_step")}` });
    case "run-resumed":
      return line(recorded, "person", "person", text(event, "by") === "" ? "Goes on" : `${text(event, "by")} let it go on`);
    case "question-asked":
      return line(recorded, "person", "ask", "Asks", { detail: text(event, "text") });
    case "question-answered":
      return line(recorded, "person", "person", `${text(event, "by") || "Somebody"} answered`, { detail: answerWords(text(event, "answer")) });
    case "question-withdrawn":
      return line(recorded, "person", "plain", "No longer asks", { detail: text(event, "reason") });
    case "effect-in-doubt":
      return line(recorded, "trouble", "bad", "May or may not have happened", { detail: text(event, "name") });
    default:
      return roomLine(recorded);
  }
}

function endLine(draft: Draft, recorded: Recorded): Line | null {
  const event: Fields = recorded.event;
  const outcome = text(event, "outcome");
  const isRun = text(event, "workflow") === draft.run;
  if (outcome === "done") return line(recorded, isRun ? "milestone" : "detail", "good", isRun ? "Ended" : "An agent is done");
  return line(recorded, "trouble", "bad", isRun ? `Ended: ${outcome}` : `An agent ended: ${outcome}`, { detail: text(event, "error") });
}
