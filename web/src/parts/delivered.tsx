import type { ReactNode } from "react";

import type { Delivery } from "../api/types";
import { Banner } from "./banner";
import { failingOf } from "./failing";
import { Markdown } from "./markdown";
import css from "./delivered.module.css";

export interface DeliveredProps {
  delivery: Delivery;
  /** Above the answer; nothing but what still fails comes before it. */
  title?: string;
  /** The report stands beside it, and begins with the answer. */
  isAnswerBeside?: boolean;
  /** Right after the answer, e.g. what proves it. */
  children?: ReactNode;
}

/** What a run handed over: what still fails, the answer, then how far to trust it. */
export function Delivered({ delivery, title = "", isAnswerBeside = false, children }: DeliveredProps) {
  const { status, answer, summary } = delivery;
  const { fails, why, problems } = failingOf(delivery);
  const isBad = status === "failed" || status === "refused";
  return (
    <div className={css.delivered}>
      {fails.length > 0 && (
        <Banner tone="bad">
          <strong>Shown to be wrong, and nobody mended it</strong>
          <ul className={css.fails}>
            {fails.map(({ says, error }) => (
              <li key={says}>
                {says} {error !== "" && <code>{error}</code>}
              </li>
            ))}
          </ul>
        </Banner>
      )}
      {status !== "done" && (fails.length === 0 || why !== "") && (
        <Banner tone={isBad ? "bad" : "warn"}>
          <Markdown text={why || `It is ${status}.`} />
        </Banner>
      )}
      {title !== "" && <h2>{title}</h2>}
      {!isAnswerBeside && (answer || summary) !== "" && (
        <section className={css.answer} aria-label="The answer">
          {answer !== "" && <Markdown text={answer} />}
          {summary !== "" && summary !== answer && <Markdown text={summary} />}
        </section>
      )}
      {children}
      <Points title="What is wrong with it" points={problems} />
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
