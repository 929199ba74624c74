import type { RunLine } from "../api/types";
import css from "./parts.module.css";

export type Tone = "idle" | "work" | "good" | "warn" | "bad";

const TONES: Record<string, Tone> = {
  queued: "idle",
  planned: "idle",
  dropped: "idle",
  over: "idle",
  idle: "idle",
  brief: "work",
  agree: "work",
  build: "work",
  check: "work",
  review: "work",
  deliver: "work",
  running: "work",
  done: "good",
  accepted: "good",
  partial: "warn",
  stopped: "warn",
  waiting: "warn",
  paused: "warn",
  failed: "bad",
  refused: "bad",
  rejected: "bad",
  shown: "bad",
  mended: "good",
  "not shown": "idle",
};

const WORDS: Record<string, string> = {
  queued: "queued",
  brief: "planning",
  agree: "agreeing",
  build: "building",
  check: "checking",
  review: "reviewing",
  deliver: "delivering",
  waiting: "waits for you",
};

export function toneOf(status: string): Tone {
  return TONES[status] ?? "idle";
}

/** A status in a person's word. */
export function statusWord(status: string): string {
  return WORDS[status] ?? status;
}

const OVER = new Set(["done", "failed", "cancelled", "dead"]);

/** Whether nobody works on it any more. A cancelled run may have stopped in any stage. */
export function isOver(run: Pick<RunLine, "standing">): boolean {
  return OVER.has(run.standing);
}

/** A status as dot and word: never colour alone. */
export function StatusDot({ status, word }: { status: string; word?: string }) {
  return (
    <span className={`${css.status} ${css[`tone-${toneOf(status)}`]}`}>
      <span className={css.dot} aria-hidden="true" />
      {word ?? statusWord(status)}
    </span>
  );
}
