/** What a person says to changes: accept or take back one cell, accept all, undo a whole change. */

import { useState } from "react";

import { post } from "../../api/client";
import type { CellChange, Change, Undone } from "../../api/types";
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
  const path = `/runs/${encodeURIComponent(run)}`;
  const send = (change: Change, cell: CellChange, verdict: string, comment: string) =>
    post(`${path}/changes/${change.number}/cells/${encodeURIComponent(cell.cell)}`, { verdict, comment });
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
        tell(undoneWords(await post<Undone>(`${path}/undo`, { step: change.number }))),
      ),
  };
}
