/** Where on a run's page each view of it stands. Pure. */

export type Place = "activity" | "plan" | "changes" | "result" | "report" | "notebook" | "branches";
export type WorkPlace = Extract<Place, "report" | "notebook" | "changes">;

export const TITLES: Record<Place, string> = {
  activity: "Activity",
  plan: "Plan",
  changes: "Changes",
  result: "Result",
  report: "Report",
  notebook: "Notebook",
  branches: "Branches",
};

/** The key of each is its number here, wherever it stands. */
export const PLACES = Object.keys(TITLES) as readonly Place[];

export interface Circumstances {
  isWide: boolean;
  /** There is a report to read. */
  hasReport: boolean;
  /** Something was tried in a branch. */
  hasBranches: boolean;
  /** The run was over when the page was opened: one comes to read, not to watch. */
  isRead: boolean;
  /** The person's last choice on either side; `null`: none yet. */
  left: Place | null;
  right: WorkPlace | null;
}

export interface Layout {
  left: Place[];
  right: WorkPlace[];
  shownLeft: Place;
  shownRight: WorkPlace;
}

/** A run that is watched: what happens, beside its notebook. One that is read: its answer, beside its report. What is
 * watched to its end gains a report, and nothing else moves. */
export function layoutOf({ isWide, hasReport, hasBranches, isRead, left, right }: Circumstances): Layout {
  const isDelivered = isRead && hasReport;
  const work: WorkPlace[] = hasReport ? ["report", "notebook"] : ["notebook"];
  const tried: Place[] = hasBranches ? ["branches"] : [];
  if (!isWide) {
    const places: Place[] = isDelivered
      ? ["report", "notebook", "changes", ...tried, "result", "activity", "plan"]
      : ["activity", "plan", ...tried, "changes", "result", ...work];
    const first = isDelivered ? "report" : isRead ? "result" : "activity";
    return { left: places, right: [], shownLeft: chosen(places, left) ?? first, shownRight: "notebook" };
  }
  const lefts: Place[] = isDelivered
    ? ["result", "activity", "plan", ...tried]
    : ["activity", "plan", ...tried, "changes", "result"];
  const rights: WorkPlace[] = isDelivered ? [...work, "changes"] : work;
  return {
    left: lefts,
    right: rights,
    shownLeft: chosen(lefts, left) ?? (isRead ? "result" : "activity"),
    shownRight: chosen(rights, right) ?? rights[0] ?? "notebook",
  };
}

function chosen<Id extends Place>(places: readonly Id[], choice: Id | null): Id | null {
  return choice !== null && places.includes(choice) ? choice : null;
}
