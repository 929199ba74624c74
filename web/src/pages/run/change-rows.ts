/** The changes of a run as the rows of a list, the newest first. Pure. */

import type { CellChange, Change } from "../../api/types";

export type ChangeRow =
  | { kind: "head"; key: string; change: Change }
  | { kind: "cell"; key: string; change: Change; cell: CellChange }
  /** Those that only stand elsewhere, told together. */
  | { kind: "moved"; key: string; change: Change; cells: CellChange[] };

/** Whether a person may still want to look at it; another place alone is nothing to judge. */
export function isToReview(cell: CellChange): boolean {
  return cell.review === "open" && !isMoved(cell);
}

export function isMoved(cell: CellChange): boolean {
  return cell.kind === "moved" && cell.before === cell.after;
}

export function rowsOf(changes: readonly Change[]): ChangeRow[] {
  return changes.toReversed().flatMap((change) => {
    const moved = change.cells.filter(isMoved);
    const rows: ChangeRow[] = [{ kind: "head", key: `${change.number}`, change }];
    for (const cell of change.cells)
      if (!isMoved(cell)) rows.push({ kind: "cell", key: `${change.number} ${cell.cell}`, change, cell });
    if (moved.length > 0) rows.push({ kind: "moved", key: `${change.number} moved`, change, cells: moved });
    return rows;
  });
}

export function nameOf(cell: CellChange): string {
  return cell.name || cell.cell;
}
