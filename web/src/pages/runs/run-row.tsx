import { memo } from "react";
import { Link } from "wouter";

import type { RunLine } from "../../api/types";
import { StatusDot, dateTime, dollars, elapsed } from "../../parts";
import { useRunList } from "./list-state";
import { isOver } from "./standing";
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
            {fileName(run.notebook)}
            {run.questions > 0 && run.status === "waiting" && <b className={css.asks}>{asks(run.questions)}</b>}
          </span>
        </span>
        <span className={css.number}>
          <span className="visually-hidden">Cost </span>
          {costOf(run)}
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

function asks(count: number): string {
  return count === 1 ? "asks you something" : `asks you ${count} things`;
}

/** A price nobody knows is said to be unknown, never 0. */
export function costOf(run: Pick<RunLine, "microdollars" | "unpriced_tokens">): string {
  if (run.microdollars === 0) return run.unpriced_tokens > 0 ? "unknown" : "free";
  return dollars(run.microdollars) + (run.unpriced_tokens > 0 ? " +" : "");
}

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
