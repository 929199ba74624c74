/** How a run stands, in words. Pure. */

import type { RunStatus, Stage } from "../../api/types";
import type { FollowedRun } from "./follow-run";

export interface Standing {
  status: RunStatus;
  isOver: boolean;
  isPaused: boolean;
  /** It is over, but could go on from where it was. */
  isResumable: boolean;
  /** How many questions wait for an answer, a pause aside. */
  asks: number;
}

export const STAGE_WORDS: Record<Stage, string> = {
  queued: "Waits for its turn",
  brief: "Reads the data and plans",
  agree: "Agrees on what it may touch",
  build: "Builds",
  check: "Checks from scratch",
  review: "Looks it over",
  deliver: "Delivers",
  over: "Over",
};

/** The stages a person follows, in order. */
export const RAIL: readonly { stage: Stage; title: string }[] = [
  { stage: "brief", title: "Plan" },
  { stage: "agree", title: "Agree" },
  { stage: "build", title: "Build" },
  { stage: "check", title: "Check" },
  { stage: "review", title: "Review" },
  { stage: "deliver", title: "Deliver" },
];

export function standingOf({ story, detail }: FollowedRun): Standing {
  const open = (detail?.questions ?? []).filter((question) => story.openQuestions.includes(question.id));
  const asks = open.filter((question) => question.topic !== "paused").length;
  const isOver = story.ended !== "" || story.stage === "over";
  const isPaused = !isOver && open.some((question) => question.topic === "paused");
  const isResumable = story.ended === "cancelled" || story.ended === "dead";
  return { status: statusOf(), isOver, isPaused, isResumable, asks: isOver ? 0 : asks };

  function statusOf(): RunStatus {
    if (isOver && story.delivery !== null) return story.delivery.status;
    if (story.ended !== "") return story.ended === "cancelled" ? "stopped" : story.ended === "done" ? "done" : "failed";
    if (asks > 0) return "waiting";
    return isPaused ? "paused" : story.stage;
  }
}

/** For a screen reader, whenever it changes. */
export function spokenStanding(followed: FollowedRun, standing: Standing): string {
  const { story } = followed;
  const tasks = story.plan?.tasks ?? [];
  const done = tasks.filter((task) => task.status === "done").length;
  const words = [standing.isOver ? `The run is ${standing.status}.` : `${STAGE_WORDS[story.stage]}.`];
  if (tasks.length > 0) words.push(`${done} of ${tasks.length} tasks done.`);
  if (standing.asks > 0)
    words.push(standing.asks === 1 ? "One question waits for you." : `${standing.asks} questions wait for you.`);
  return words.join(" ");
}
