import { memo } from "react";

import { clock, dollars, thousands } from "../../parts";
import type { Line } from "./timeline";
import css from "./timeline.module.css";

export interface TimelineLineProps {
  line: Line;
  agent: string;
  isOpen: boolean;
  onToggle: (sequence: number) => void;
}

const LONG = 90;

/** One thing that happened. */
export const TimelineLine = memo(function TimelineLine({ line, agent, isOpen, onToggle }: TimelineLineProps) {
  const hasMore = line.detail.length > LONG || line.detail.includes("\n") || line.cells.length > 1;
  const body = (
    <>
      <span className={css.what}>{line.what}</span>
      {line.detail !== "" && !isOpen && <span className={css.brief}>{line.detail.replaceAll("\n", " · ")}</span>}
    </>
  );
  return (
    <div className={css.line} data-tone={line.tone} data-family={line.family}>
      <time className={css.time} dateTime={new Date(line.at_ms).toISOString()}>
        {clock(line.at_ms)}
      </time>
      <span className={css.rail} aria-hidden="true">
        <span className={css.dot} />
      </span>
      <div className={css.said}>
        {hasMore ? (
          <button type="button" className={css.more} aria-expanded={isOpen} onClick={() => onToggle(line.sequence)}>
            {body}
          </button>
        ) : (
          <div className={css.fixed}>{body}</div>
        )}
        {isOpen && <More line={line} />}
      </div>
      <div className={css.who}>
        {agent !== "" && <span className={css.agent}>{agent}</span>}
        {line.model !== "" && <span className={css.model}>{line.model}</span>}
      </div>
      <div className={css.numbers}>
        {line.model !== "" && (
          <span>
            {line.microdollars === null ? "no price" : dollars(line.microdollars)} · {thousands(line.tokens)} tok
          </span>
        )}
        {line.tone === "busy" ? (
          <span>at work</span>
        ) : (
          <span>{[line.step === null || line.model !== "" ? "" : `step ${line.step}`, line.milliseconds ? duration(line.milliseconds) : ""].filter(Boolean).join(" · ")}</span>
        )}
      </div>
    </div>
  );
});

function More({ line }: { line: Line }) {
  if (line.cells.length > 1)
    return (
      <ul className={css.cells}>
        {line.cells.map((cell, at) => (
          <li key={at} data-failed={cell.outcome !== "ok"}>
            <span>{cell.name || "unnamed"}</span>
            <span>{cell.outcome}</span>
            <span>{duration(cell.seconds * 1000)}</span>
          </li>
        ))}
      </ul>
    );
  return <pre className={css.detail}>{line.detail}</pre>;
}

function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${(milliseconds / 60_000).toFixed(1)} min`;
}
