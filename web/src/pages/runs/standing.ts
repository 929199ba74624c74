import type { RunLine } from "../../api/types";

const OVER = new Set(["done", "failed", "cancelled", "dead"]);

/** Whether nobody works on it any more. A cancelled run may have stopped in any stage. */
export function isOver(run: Pick<RunLine, "standing">): boolean {
  return OVER.has(run.standing);
}
