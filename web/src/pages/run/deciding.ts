/** A person's word about branches that wait: accept one, or drop it. */

import { useState } from "react";

import { calls, request } from "../../api/client";
import type { Branch } from "../../api/types";
import { tell, tellProblem } from "../../parts";
import type { FollowedRun } from "./follow-run";

export interface Deciding {
  /** What is being sent: `accept BRANCH` or `drop BRANCH`. */
  busy: string | null;
  decide: (branch: Branch, word: "accept" | "drop") => Promise<void>;
}

export function useDeciding({ run, refresh }: FollowedRun, lookAgain: () => void): Deciding {
  const [busy, setBusy] = useState<string | null>(null);
  const decide = async (branch: Branch, word: "accept" | "drop") => {
    if (busy !== null) return;
    setBusy(`${word} ${branch.branch}`);
    try {
      const decided = word === "accept" ? calls.acceptBranch(run, branch.branch) : calls.dropBranch(run, branch.branch);
      tell((await request(decided)).says);
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(null);
      lookAgain();
      refresh();
    }
  };
  return { busy, decide };
}
