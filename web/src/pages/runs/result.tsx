import { Link } from "wouter";

import type { RunDetail } from "../../api/types";
import { Banner, Delivered, Empty, RunStatements, StatusDot, isOver } from "../../parts";
import css from "./detail.module.css";

const STAGES = [
  ["queued", "Queued"],
  ["brief", "Plan"],
  ["agree", "Agree"],
  ["build", "Build"],
  ["check", "Check"],
  ["review", "Review"],
  ["deliver", "Deliver"],
] as const;

/** What came of the run; while it works, how far it is. */
export function Result({ detail }: { detail: RunDetail }) {
  const { delivery } = detail;
  return (
    <div className={css.result}>
      {detail.questions.length > 0 && <Asks detail={detail} />}
      {delivery === null ? <Progress detail={detail} /> : <Delivered delivery={delivery} />}
      {detail.plan !== null && <Tasks detail={detail} />}
      <RunStatements run={detail.run} named={detail.goal?.connections ?? []} />
      {detail.plan === null && delivery !== null && delivery.answer === "" && <p className={css.faint}>It ended before there was a plan. The timeline tells every step until then.</p>}
    </div>
  );
}

function Asks({ detail }: { detail: RunDetail }) {
  const [first] = detail.questions;
  return (
    <Banner tone="warn" actions={<Link href={`/runs/${detail.run}`}>Answer it</Link>}>
      <strong>{detail.status === "paused" ? "Paused." : "Waits for your answer."}</strong>{" "}
      {first?.what.split("\n")[0]}
    </Banner>
  );
}

function Progress({ detail }: { detail: RunDetail }) {
  const at = STAGES.findIndex(([id]) => id === detail.stage);
  return (
    <section aria-label="How far it is">
      <ol className={css.stages}>
        {STAGES.map(([id, title], index) => (
          <li key={id} data-state={index < at ? "done" : index === at ? "now" : "ahead"} aria-current={index === at ? "step" : undefined}>
            {title}
          </li>
        ))}
      </ol>
      {(detail.waits || detail.note || detail.cell) !== "" && (
        <p className={css.now}>{detail.waits || detail.note || `Last cell: ${detail.cell}`}</p>
      )}
      {detail.plan === null && !isOver(detail) && <Empty title="No plan yet">The agent is still reading the data.</Empty>}
      {isOver(detail) && <Empty title="Nothing was handed over">The timeline tells what happened.</Empty>}
    </section>
  );
}

function Tasks({ detail }: { detail: RunDetail }) {
  const tasks = detail.plan?.tasks ?? [];
  if (tasks.length === 0) return null;
  return (
    <section>
      <h2 className={css.section}>Plan</h2>
      <ol className={css.tasks}>
        {tasks.map((task) => (
          <li key={task.id}>
            <span className={css.taskTitle}>{task.title}</span>
            <span className={css.faint}>{task.role}</span>
            <StatusDot status={task.status} />
            {task.note !== "" && task.note !== detail.delivery?.answer && <p className={css.taskNote}>{task.note}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}
