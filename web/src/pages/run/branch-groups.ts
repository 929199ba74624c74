/** What was tried in branches, arranged for the eye. Pure. */

import type { Branch } from "../../api/types";

export interface BranchGroup {
  key: string;
  /** Tried side by side, in the order in which they came to an end; most stand alone. */
  members: Branch[];
}

/** The newest first. */
export function groupsOf(branches: readonly Branch[]): BranchGroup[] {
  const groups = new Map<string, BranchGroup>();
  for (const branch of branches) {
    const key = branch.group === "" ? `alone ${branch.branch}` : `group ${branch.group}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { key, members: [branch] });
    else group.members.push(branch);
  }
  return [...groups.values()].reverse();
}

/** What became of it, or who has to say. */
export function fateOf({ state, is_kept, decided_by }: Pick<Branch, "state" | "is_kept" | "decided_by">): string {
  switch (state) {
    case "waits":
      return "waits for you";
    case "accepted":
      return is_kept ? `✓ accepted by ${decided_by}` : `accepted by ${decided_by}, not in the notebook`;
    case "dropped":
      return `dropped by ${decided_by}`;
    case "kept":
      return "✓ kept";
    case "not-kept":
      return "not kept";
  }
}

export interface Sides {
  /** Which column or key; "": the variable itself. */
  of: string;
  before: string;
  after: string;
}

/** Two texts whose lines belong together, line by line; else as they are. */
export function sidesOf({ before, after }: { before: string; after: string }): Sides[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  if (before === "" || after === "" || old.length !== now.length) return [{ of: "", before, after }];
  return old.map((line, at) => sided(line, now[at] ?? ""));
}

function sided(before: string, after: string): Sides {
  const colon = before.indexOf(": ");
  const of = colon < 0 ? "" : before.slice(0, colon);
  if (of === "" || !after.startsWith(`${of}: `)) return { of: "", before, after };
  return { of, before: before.slice(colon + 2), after: after.slice(colon + 2) };
}

const WAYS: Record<string, string> = {
  fork: "a fork of the kernel",
  carried: "a fresh kernel, given the variables it needs",
  replayed: "a fresh kernel that ran the cells it needs",
  "": "never made",
};

export function wayWords(way: string): string {
  return WAYS[way] ?? way;
}
