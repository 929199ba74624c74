import { memo } from "react";
import { Link } from "wouter";

import type { RunLine } from "../../api/types";
import { StatusDot, cost, dateTime, elapsed, isOver } from "../../parts";
import { useRunList } from "./list-state";
import css from "./runs.module.css";

export interface RunRowProps {
  run: RunLine;
  nowMs: number;
  at: number;
  /** How many there are in all; -1: nobody knows yet. */
  count: number;
  top: number;
  height: number;
}

/** One run of many. */
export const RunRow = memo(function RunRow({ run, nowMs, at, count, top, height }: RunRowProps) {
  const seconds = isOver(run) ? run.seconds : Math.max(run.seconds, (nowMs - run.began_ms) / 1000);
  return (
    <li
      className={css.item}
      style={{ transform: `translateY(${top}px)`, height }}
      aria-setsize={count}
      aria-posinset={at + 1}
    >
      <Link
        href={`/runs/${run.run}/detail`}
        className={css.row}
        data-run={run.run}
        onFocus={() => useRunList.setState({ at: run.run })}
      >
        <span className={css.status}>
          <StatusDot status={run.status} />
        </span>
        <span className={css.goal}>
          <span className={css.words}>{run.goal || "No goal was told"}</span>
          <span className={css.notebook}>
            <span>{fileName(run.notebook)}</span>
            {run.questions > 1 && run.status === "waiting" && (
              <b className={css.asks}>{run.questions.toLocaleString("en")} questions</b>
            )}
          </span>
        </span>
        <span className={css.number}>
          <span className="visually-hidden">Cost </span>
          {cost(run.microdollars, run.unpriced_tokens)}
        </span>
        <span className={css.number}>
          <span className="visually-hidden">Time </span>
          {elapsed(seconds)}
        </span>
        <span className={css.began}>
          <span className="visually-hidden">Began </span>
          {dateTime(run.began_ms)}
        </span>
      </Link>
    </li>
  );
});

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
