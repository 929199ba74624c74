import type { ReactNode } from "react";

import type { Delivery } from "../api/types";
import { Banner } from "./banner";
import { Markdown } from "./markdown";
import css from "./delivered.module.css";

export interface DeliveredProps {
  delivery: Delivery;
  /** The report stands beside it, and begins with the answer. */
  isAnswerBeside?: boolean;
  /** Right after the answer, e.g. what proves it. */
  children?: ReactNode;
}

/** What a run handed over: the answer first, then how far to trust it. */
export function Delivered({ delivery, isAnswerBeside = false, children }: DeliveredProps) {
  const { status, answer, summary, why } = delivery;
  const isBad = status === "failed" || status === "refused";
  return (
    <div className={css.delivered}>
      {status !== "done" && (
        <Banner tone={isBad ? "bad" : "warn"}>
          <Markdown text={why || `It is ${status}.`} />
        </Banner>
      )}
      {!isAnswerBeside && (answer || summary) !== "" && (
        <section className={css.answer} aria-label="The answer">
          {answer !== "" && <Markdown text={answer} />}
          {summary !== "" && summary !== answer && <Markdown text={summary} />}
        </section>
      )}
      {children}
      <Points title="What is wrong with it" points={delivery.problems} />
      <Points title="Read this before you rely on it" points={delivery.caveats} />
      <Points title="What was assumed" points={delivery.assumptions} />
      {delivery.checks.length > 0 && <Checks checks={delivery.checks} />}
    </div>
  );
}

function Points({ title, points }: { title: string; points: readonly string[] }) {
  if (points.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul className={css.points}>
        {points.map((point) => (
          <li key={point}>
            <Markdown text={point} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Checks({ checks }: { checks: Delivery["checks"] }) {
  const held = checks.filter((check) => check.has_passed).length;
  return (
    <section>
      <h2>
        Checks <span className={css.soft}>{held === checks.length ? "all hold" : `${held} of ${checks.length} hold`}</span>
      </h2>
      <ul className={css.checks}>
        {checks.map((check) => (
          <li key={check.name} data-held={check.has_passed}>
            <span aria-hidden="true">{check.has_passed ? "✓" : "✗"}</span>
            <span>
              <span className="visually-hidden">{check.has_passed ? "Holds: " : "Does not hold: "}</span>
              {check.says || check.name}
              {check.detail !== "" && <span className={css.detail}>{check.detail}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
