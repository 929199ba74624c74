/** The list as it was left: what was searched, what came, and where somebody was. Survives a look at one run. */

import { create } from "zustand";

import { type Call, calls, request } from "../../api/client";
import type { RunLine, RunPage, RunStatus } from "../../api/types";

export type Filter = "all" | "working" | "waiting" | "done" | "partial" | "failed" | "refused" | "stopped";

interface FilterShape {
  id: Filter;
  title: string;
  /** As the API takes it: a status, or a standing that no status is called like. */
  query: RunStatus | RunLine["standing"] | "";
  /** The same, for a run that is told of while the list is shown. */
  takes: (run: RunLine) => boolean;
}

export const FILTERS: readonly FilterShape[] = [
  { id: "all", title: "All", query: "", takes: () => true },
  { id: "working", title: "At work", query: "running", takes: (run) => run.standing === "running" || run.standing === "queued" },
  { id: "waiting", title: "Waiting for you", query: "waiting", takes: (run) => run.status === "waiting" },
  ...(["done", "partial", "failed", "refused", "stopped"] as const).map((status) => ({
    id: status,
    title: status === "partial" ? "Partly done" : status.charAt(0).toUpperCase() + status.slice(1),
    query: status,
    takes: (run: RunLine) => run.status === status,
  })),
];

interface ListState {
  search: string;
  filter: Filter;
  runs: readonly RunLine[];
  next: string | null;
  isLoading: boolean;
  isFirst: boolean;
  error: unknown;
  /** The run that has the keyboard. */
  at: string | null;
}

const PAGE = 100;

export const useRunList = create<ListState>(() => ({
  search: "",
  filter: "all",
  runs: [],
  next: null,
  isLoading: false,
  isFirst: true,
  error: null,
  at: null,
}));

let asking: AbortController | null = null;

/** From the top, with what is searched now. What is shown stays until the answer is there. */
export function reload(): void {
  void load(null);
}

/** The next page, if there is one. */
export function loadMore(): void {
  const { next, isLoading } = useRunList.getState();
  if (next !== null && !isLoading) void load(next);
}

export function choose(wanted: Partial<Pick<ListState, "search" | "filter">>): void {
  useRunList.setState({ ...wanted, at: null });
  reload();
}

async function load(before: string | null): Promise<void> {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  useRunList.setState({ isLoading: true });
  try {
    const page = await request(wantedRuns(before), mine.signal);
    useRunList.setState((list) => ({
      runs: merged(before === null ? [] : list.runs, page.runs.filter(shapeOf(list.filter).takes)),
      next: page.next,
      error: null,
      isLoading: false,
      isFirst: false,
    }));
  } catch (error) {
    if (!mine.signal.aborted) useRunList.setState({ error, isLoading: false, isFirst: false });
  }
}

function wantedRuns(before: string | null): Call<RunPage> {
  const { search, filter } = useRunList.getState();
  return calls.listRuns({ limit: PAGE, search: search.trim(), status: shapeOf(filter).query, before });
}

/** What the house tells comes in where it belongs: known runs in their place, new ones at the top. */
export function mergeTold(told: Readonly<Record<string, RunLine>>): void {
  useRunList.setState((list) => {
    const known = new Set(list.runs.map((run) => run.run));
    const runs = list.runs.map((run) => told[run.run] ?? run);
    const oldest = list.next === null ? 0 : (list.runs[list.runs.length - 1]?.began_ms ?? 0);
    const fresh = Object.values(told).filter((run) => !known.has(run.run) && run.began_ms >= oldest && matches(run, list));
    const isSame = fresh.length === 0 && runs.every((run, at) => run === list.runs[at]);
    return isSame ? list : { runs: merged(runs, fresh) };
  });
}

export function matches(run: RunLine, { search, filter }: Pick<ListState, "search" | "filter">): boolean {
  const text = `${run.goal} ${run.run} ${run.notebook}`.toLowerCase();
  return shapeOf(filter).takes(run) && search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function shapeOf(filter: Filter): FilterShape {
  const found = FILTERS.find((each) => each.id === filter);
  if (found === undefined) throw new Error(`No filter ${filter}.`);
  return found;
}

/** Each once, the newest first. */
function merged(before: readonly RunLine[], more: readonly RunLine[]): readonly RunLine[] {
  const all = new Map([...before, ...more].map((run) => [run.run, run]));
  return [...all.values()].sort((one, other) => other.began_ms - one.began_ms);
}
