/** A person's word about branches that wait: accept one, or drop it. */

import { useState } from "react";

import { post } from "../../api/client";
import type { Branch, BranchDecided } from "../../api/types";
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
      const path = `/runs/${encodeURIComponent(run)}/branches/${encodeURIComponent(branch.branch)}/${word}`;
      tell((await post<BranchDecided>(path, {})).says);
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
