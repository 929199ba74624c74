/** What a person says to changes: accept or take back one cell, accept all, undo a whole change. */

import { useState } from "react";

import { calls, request } from "../../api/client";
import type { CellChange, Change } from "../../api/types";
import { tell, tellProblem, undoneWords } from "../../parts";
import { isToReview } from "./change-rows";
import type { FollowedRun } from "./follow-run";

export interface Reviewing {
  /** The row that is being sent. */
  busy: string | null;
  judge: (change: Change, cell: CellChange, verdict: "accept" | "reject", comment: string) => Promise<void>;
  acceptAll: (change: Change) => Promise<void>;
  undo: (change: Change) => Promise<void>;
}

export function useReviewing({ run, refresh }: FollowedRun): Reviewing {
  const [busy, setBusy] = useState<string | null>(null);
  const send = (change: Change, cell: CellChange, verdict: "accept" | "reject", comment: string) =>
    request(calls.reviewChange(run, change.number, cell.cell, { verdict, comment }));
  const during = async (row: string, work: () => Promise<unknown>) => {
    if (busy !== null) return;
    setBusy(row);
    try {
      await work();
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(null);
      refresh();
    }
  };
  return {
    busy,
    judge: (change, cell, verdict, comment) =>
      during(`${change.number} ${cell.cell}`, () => send(change, cell, verdict, comment)),
    acceptAll: (change) =>
      during(`${change.number}`, async () => {
        for (const cell of change.cells.filter(isToReview)) await send(change, cell, "accept", "");
      }),
    undo: (change) =>
      during(`${change.number}`, async () =>
        tell(undoneWords(await request(calls.undoRun(run, { step: change.number })))),
      ),
  };
}
