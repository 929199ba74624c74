/** What a review has shown to be wrong and nobody mended, apart from what else a delivery says of its trouble. Pure. */

import type { Delivery } from "../api/types";

export interface Failing {
  fails: { says: string; error: string }[];
  /** Why it ended, as far as what fails does not say it. */
  why: string;
  /** The other problems. */
  problems: readonly string[];
}

export function failingOf(delivery: Pick<Delivery, "reviewed" | "why" | "problems">): Failing {
  const fails = delivery.reviewed
    .filter((each) => each.standing === "shown")
    .map(({ finding, error }) => ({ says: findingWords(finding), error }));
  // As the delivery itself words them.
  const told = fails.map(({ says, error }) => (error === "" ? says : `${says} (${error})`));
  const left = told.reduce((why, text) => why.replace(text, ""), delivery.why);
  return {
    fails,
    why: left === delivery.why ? left : left.replace(/(?:;\s*)+/g, "; ").replace(/^[;\s]+|[;\s]+$/g, ""),
    problems: delivery.problems.filter((problem) => !told.includes(problem)),
  };
}

/** A finding in a sentence or two. */
export function findingWords({ claim, found }: { claim: string; found: string }): string {
  return `${claim.replace(/\.+$/, "")}. ${found}`.trim();
}
