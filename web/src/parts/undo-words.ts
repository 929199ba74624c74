/** What an undo or a redo came to, in words: which cells, and how far the notebook went with them. */

import type { Redone, Undone } from "../api/types";

type By = NonNullable<Undone["by"]>;

const HOW: Record<By, string> = {
  checkpoint: "By checkpoint: outputs, variables and files went with them.",
  replay: "By replay: a new kernel has run again what had run.",
  cells: "Only cells: what depends on them runs again.",
  file: "In the notebook’s file: no kernel is open for it.",
};

export function undoneWords({ turns, cells, kept, by, why }: Undone): string {
  if (by === null) return why;
  const back =
    cells.length === 0
      ? `Undone: ${turns.length === 1 ? `change ${turns[0]}` : `${turns.length} changes`}. No cell’s text had to change.`
      : `Taken back: ${cells.join(", ")}.`;
  const all = `${back} ${HOW[by]}`;
  return kept.length === 0 ? all : `${all} Kept, because somebody changed it since: ${kept.join(", ")}.`;
}

export function redoneWords({ cells, by, why }: Redone): string {
  if (by === null) return why;
  return `${cells.length === 0 ? "Redone." : `Redone: ${cells.join(", ")}.`} ${HOW[by]}`;
}
