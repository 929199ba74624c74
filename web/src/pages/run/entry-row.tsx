import { memo } from "react";

import type { RunFinding } from "../../api/types";
import { Button, Markdown, clock, dollars, elapsed, findingWords, thousands } from "../../parts";
import { Action, Cells } from "./entry-code";
import type { DraftSection } from "./drafts";
import { standingWord } from "./review-words";
import { STAGE_WORDS } from "./standing";
import { WrittenDraft } from "./written-draft";
import { type Entry, type EntryBody, assertNever } from "./story";
import css from "./activity.module.css";

export type CellNames = Readonly<Record<string, string>>;

export interface EntryRowProps {
  entry: Entry;
  /** What is being written of it. */
  draft: readonly DraftSection[];
  name: string;
  /** Whether somebody else did what stands above. */
  isFirstOfAgent: boolean;
  cellNames: CellNames;
  onCell: (cell: string) => void;
  onPlace: (place: "plan" | "changes" | "result") => void;
}

/** One thing that happened. */
export const EntryRow = memo(function EntryRow({
  entry,
  draft,
  name,
  isFirstOfAgent,
  cellNames,
  onCell,
  onPlace,
}: EntryRowProps) {
  const { body } = entry;
  if (body.kind === "stage")
    return (
      <>
        <div className={css.stage}>
          <span>{STAGE_WORDS[body.stage]}</span>
        </div>
        {body.note !== "" && (
          <div className={css.stageNote}>
            <Markdown text={body.note} />
          </div>
        )}
      </>
    );
  return (
    <article className={css.entry} data-kind={body.kind}>
      <span className={css.mark} aria-hidden="true">
        {markOf(body)}
      </span>
      <div className={css.body}>
        {isFirstOfAgent && (body.kind === "thought" || body.kind === "action") && <div className={css.who}>{name}</div>}
        {(draft.length === 0 || (body.kind === "thought" && body.says !== "")) && (
          <Body body={body} cellNames={cellNames} onCell={onCell} onPlace={onPlace} />
        )}
        {draft.length > 0 && <WrittenDraft sections={draft} />}
      </div>
      <time className={css.at} dateTime={new Date(entry.atMs).toISOString()}>
        {clock(entry.atMs)}
      </time>
    </article>
  );
});

const FINDING_MARKS = { shown: "✗", mended: "✓", "not shown": "·" } as const;
const TASK_MARKS = { planned: "○", running: "●", done: "✓", failed: "✗", dropped: "–" } as const;

function markOf(body: EntryBody): string {
  switch (body.kind) {
    case "task":
      return TASK_MARKS[body.state];
    case "thought":
      return "✎";
    case "action":
      return body.audit.result === "refused" || body.audit.verdict === "deny" ? "!" : "›";
    case "cells":
      return "▸";
    case "question":
      return "?";
    case "said":
      return "“";
    case "goal":
      return "◎";
    case "plan":
      return "☰";
    case "delivery":
      return "★";
    case "finding":
      return FINDING_MARKS[body.finding.standing];
    case "note":
      return body.isTrouble ? "!" : "·";
    case "step":
    case "stage":
      return "·";
    default:
      return assertNever(body);
  }
}

function Body({
  body,
  cellNames,
  onCell,
  onPlace,
}: { body: EntryBody } & Pick<EntryRowProps, "cellNames" | "onCell" | "onPlace">) {
  switch (body.kind) {
    case "goal":
      return (
        <p>
          <strong>{body.isNew ? "New goal: " : "Goal: "}</strong>
          {body.words}
        </p>
      );
    case "plan":
      return (
        <p>
          Plan: {body.title}{" "}
          <Button look="quiet" size="small" onClick={() => onPlace("plan")}>
            {body.tasks} {body.tasks === 1 ? "task" : "tasks"}
          </Button>
        </p>
      );
    case "task":
      return (
        <p className={css[`task-${body.state}`]}>
          <strong>{body.title}</strong> {body.state === "running" ? "begins" : `is ${body.state}`}
          {body.note !== "" && <span className={css.soft}>: {body.note}</span>}
        </p>
      );
    case "thought":
      return <Thought thought={body} />;
    case "action":
      return <Action audit={body.audit} onCell={onCell} />;
    case "cells":
      return <Cells cells={body.cells} onCell={onCell} />;
    case "step":
      return (
        <p className={css.soft}>
          {body.name}
          {body.milliseconds !== null && <span className="numeric"> · {duration(body.milliseconds)}</span>}
        </p>
      );
    case "question":
      return (
        <p>
          <strong>Asks: </strong>
          {body.text.replace(/:$/, "")}
          {!body.isOpen && (
            <span className={css.soft}>
              {" "}
              — {body.by !== "" && `${body.by}: `}
              {body.answer}
            </span>
          )}
        </p>
      );
    case "said":
      return (
        <p className={css.said}>
          <strong>{body.by}: </strong>
          {body.text}
          {body.cell !== null && <code> {cellNames[body.cell] ?? body.cell}</code>}
        </p>
      );
    case "finding":
      return <FindingLine finding={body.finding} />;
    case "note":
      return <p className={body.isTrouble ? css.trouble : css.soft}>{body.text}</p>;
    case "delivery":
      return (
        <div className={css.delivered}>
          <Markdown text={body.delivery.answer || body.delivery.why || body.delivery.summary} />
          <Button size="small" onClick={() => onPlace("result")}>
            See the result
          </Button>
        </div>
      );
    case "stage":
      return null;
    default:
      return assertNever(body);
  }
}

function FindingLine({ finding }: { finding: RunFinding }) {
  const { standing } = finding;
  return (
    <p className={standing === "not shown" ? css.soft : css[`task-${standing === "shown" ? "failed" : "done"}`]}>
      <strong>{standingWord(standing, false)}</strong>: {findingWords(finding)}
    </p>
  );
}

function Thought({ thought }: { thought: Extract<EntryBody, { kind: "thought" }> }) {
  const figures = [
    thought.model,
    thought.milliseconds === null || thought.milliseconds === 0 ? "" : duration(thought.milliseconds),
    thought.tokens > 0 ? `${thousands(thought.tokens)} tokens` : "",
    thought.microdollars > 0 ? dollars(thought.microdollars) : "",
  ].filter((figure) => figure !== "");
  if (thought.says === "")
    return (
      <p className={css.soft}>
        {thought.milliseconds !== null
          ? ["thought", ...figures].join(" · ")
          : thought.isCut
            ? "thought, and was cut off"
            : "thinks…"}
      </p>
    );
  return (
    <>
      <Markdown text={thought.says} />
      <p className={css.figures}>{figures.join(" · ") || "\u00a0"}</p>
    </>
  );
}

function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds} ms`;
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : elapsed(milliseconds / 1000);
}
