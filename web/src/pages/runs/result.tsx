import { Link } from "wouter";

import type { Delivery, RunDetail } from "../../api/types";
import { Banner, Empty, Markdown, StatusDot } from "../../parts";
import { isOver } from "./standing";
import css from "./detail.module.css";

const STAGES = [
  ["queued", "Queued"],
  ["brief", "Plan"],
  ["agree", "Agree"],
  ["build", "Build"],
  ["check", "Check"],
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

function Delivered({ delivery }: { delivery: Delivery }) {
  return (
    <>
      {delivery.why !== "" && <Banner tone={delivery.status === "failed" || delivery.status === "refused" ? "bad" : "warn"}><Markdown text={delivery.why} /></Banner>}
      {(delivery.answer || delivery.summary) !== "" && (
        <section className={css.answer} aria-label="The answer">
          {delivery.answer !== "" && <Markdown text={delivery.answer} />}
          {delivery.summary !== "" && <Markdown text={delivery.summary} />}
        </section>
      )}
      <Points title="What is wrong with it" points={delivery.problems} />
      <Points title="Read this before you rely on it" points={delivery.caveats} />
      <Points title="What was assumed" points={delivery.assumptions} />
      {delivery.checks.length > 0 && <Checks delivery={delivery} />}
    </>
  );
}

function Points({ title, points }: { title: string; points: readonly string[] }) {
  if (points.length === 0) return null;
  return (
    <section>
      <h2 className={css.section}>{title}</h2>
      <ul className={css.points}>
        {points.map((point) => (
          <li key={point}>{point}</li>
        ))}
      </ul>
    </section>
  );
}

function Checks({ delivery }: { delivery: Delivery }) {
  const held = delivery.checks.filter((check) => check.has_passed).length;
  return (
    <section>
      <h2 className={css.section}>
        Checks <span className={css.faint}>{`${held} of ${delivery.checks.length} hold`}</span>
      </h2>
      <ul className={css.checks}>
        {delivery.checks.map((check) => (
          <li key={check.name} data-held={check.has_passed}>
            <span className={css.mark} aria-hidden="true">
              {check.has_passed ? "✓" : "✗"}
            </span>
            <span>
              <span className="visually-hidden">{check.has_passed ? "Holds: " : "Does not hold: "}</span>
              {check.says || check.name}
              {check.detail !== "" && <span className={css.checkDetail}>{check.detail}</span>}
            </span>
          </li>
        ))}
      </ul>
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
