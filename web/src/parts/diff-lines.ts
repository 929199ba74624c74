/** Two texts as lines that were kept, removed and added. Pure. */

import { diffLines, diffWordsWithSpace } from "diff";

export interface Part {
  text: string;
  isStrong: boolean;
}

export type DiffRow =
  | { kind: "same" | "added" | "removed"; parts: Part[]; before: number | null; after: number | null }
  | { kind: "fold"; lines: number };

/** Unchanged lines shown around a change. */
const AROUND = 2;
/** Above this, words within lines are not compared. */
const MOST_FOR_WORDS = 400;

export function diffRows(before: string, after: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let left = 0;
  let right = 0;
  const pieces = diffLines(ended(before), ended(after));
  const isSmall = before.length + after.length < MOST_FOR_WORDS * 60;
  for (let at = 0; at < pieces.length; at += 1) {
    const piece = pieces[at];
    if (piece === undefined) continue;
    const lines = linesOf(piece.value);
    const next = pieces[at + 1];
    if (piece.removed && next?.added && isSmall && lines.length === linesOf(next.value).length) {
      const pairs = lines.map((line, index) => pair(line, linesOf(next.value)[index] ?? ""));
      for (const [was] of pairs) rows.push({ kind: "removed", parts: was, before: ++left, after: null });
      for (const [, is] of pairs) rows.push({ kind: "added", parts: is, before: null, after: ++right });
      at += 1;
      continue;
    }
    for (const line of lines) {
      const parts = [{ text: line, isStrong: false }];
      if (piece.added) rows.push({ kind: "added", parts, before: null, after: ++right });
      else if (piece.removed) rows.push({ kind: "removed", parts, before: ++left, after: null });
      else rows.push({ kind: "same", parts, before: ++left, after: ++right });
    }
  }
  return folded(rows);
}

function ended(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function pair(before: string, after: string): [Part[], Part[]] {
  const words = diffWordsWithSpace(before, after);
  const side = (wanted: "removed" | "added") =>
    words
      .filter((word) => word[wanted] || (!word.added && !word.removed))
      .map((word) => ({ text: word.value, isStrong: word[wanted] }));
  return [side("removed"), side("added")];
}

function folded(rows: DiffRow[]): DiffRow[] {
  const isNear = rows.map((_, at) =>
    rows.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((row) => row.kind === "added" || row.kind === "removed"),
  );
  const shown: DiffRow[] = [];
  let hidden = 0;
  rows.forEach((row, at) => {
    if (isNear[at]) {
      if (hidden > 0) shown.push({ kind: "fold", lines: hidden });
      hidden = 0;
      shown.push(row);
    } else hidden += 1;
  });
  if (hidden > 0) shown.push({ kind: "fold", lines: hidden });
  return shown;
}

export function countRows(rows: readonly DiffRow[]): { added: number; removed: number } {
  return {
    added: rows.filter((row) => row.kind === "added").length,
    removed: rows.filter((row) => row.kind === "removed").length,
  };
}

/** The rows of a unified diff's body, as policy writes it. */
export function unifiedRows(lines: readonly string[]): DiffRow[] {
  let left = 0;
  let right = 0;
  const rows: DiffRow[] = [];
  for (const line of lines) {
    const range = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (range !== null) {
      left = Math.max(0, Number(range[1]) - 1);
      right = Math.max(0, Number(range[2]) - 1);
      continue;
    }
    const parts = [{ text: line.slice(1), isStrong: false }];
    if (line.startsWith("+")) rows.push({ kind: "added", parts, before: null, after: ++right });
    else if (line.startsWith("-")) rows.push({ kind: "removed", parts, before: ++left, after: null });
    else rows.push({ kind: "same", parts, before: ++left, after: ++right });
  }
  return rows;
}
