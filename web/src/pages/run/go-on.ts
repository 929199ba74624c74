import { calls, request } from "../../api/client";
import type { Goal, NewRun } from "../../api/types";

/** A new run on the terms of this one, but for what is wanted otherwise; the page goes there. */
export async function goOn(from: Goal | null, wanted: Partial<NewRun> & Pick<NewRun, "goal">): Promise<void> {
  const terms: Omit<NewRun, "goal"> = {
    data: from?.data ?? [],
    connections: from?.connections ?? [],
    tools: from?.tools ?? [],
    context: from?.context ?? [],
    kernels: from?.kernels ?? [],
    models: from?.models ?? [],
    budget_usd: from?.budget_usd ?? null,
    approve: from?.approve ?? "ask",
    is_private: from?.is_private ?? false,
    notebook: from?.notebook ?? null,
    priority: from?.priority ?? 0,
    effort: from?.effort ?? "normal",
    depth: "answer",
    attach: "",
    attach_file: "",
    research: null,
    extract: null,
  };
  const { run } = await request(calls.startRun({ ...terms, ...wanted }));
  location.hash = `#/runs/${encodeURIComponent(run)}`;
}
