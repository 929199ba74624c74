import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";

import { calls } from "../../api/client";
import type { Artifact } from "../../api/types";
import { Loading, ProblemBanner, ReportFrame, type Tab, Tabs, isOver, panelProps, useFetched, useKeys } from "../../parts";
import { Activity } from "./activity";
import { Branches } from "./branches";
import { isToReview, nameOf } from "./change-rows";
import { Changes } from "./changes";
import { Chat } from "./chat";
import { useCommands } from "./commands";
import { type FollowedRun, useRun } from "./follow-run";
import { NotebookPane } from "./notebook-pane";
import { PLACES, type Place, TITLES, type WorkPlace, layoutOf } from "./places";
import { PlanPanel } from "./plan-panel";
import { Questions } from "./questions";
import { Result } from "./result";
import { RunHeader } from "./run-header";
import { spokenStanding, standingOf } from "./standing";
import { WorkPane } from "./work-pane";
import css from "./run.module.css";

const wide = matchMedia("(min-width: 900px)");

function useIsWide(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      wide.addEventListener("change", onChange);
      return () => wide.removeEventListener("change", onChange);
    },
    () => wide.matches,
  );
}

/** A run to watch, steer and trust: what agents do on the left, the notebook they do it in on the right. */
export function RunView({ run }: { run: string }) {
  const followed = useRun(run);
  if (followed.error !== null && followed.story.last === 0)
    return (
      <div className={css.alone}>
        <ProblemBanner error={followed.error} />
        <p>
          <a href="#/runs">All runs</a>
        </p>
      </div>
    );
  if (followed.story.last === 0) return <Loading what="Reading the run…" />;
  return <Followed followed={followed} />;
}

function Followed({ followed }: { followed: FollowedRun }) {
  const { story, changes } = followed;
  const isWide = useIsWide();
  const standing = standingOf(followed);
  const commands = useCommands(followed, standing);
  const report = useReport(followed);
  const [isRead, setIsRead] = useState<boolean | null>(null);
  if (isRead === null && followed.detail !== null)
    setIsRead(followed.detail.delivery !== null && isOver(followed.detail));
  const [left, setLeft] = useState<Place | null>(null);
  const [right, setRight] = useState<WorkPlace | null>(null);
  const [cell, setCell] = useState<string | null>(null);
  const layout = layoutOf({
    isWide,
    hasReport: report.isThere,
    hasBranches: story.branches > 0,
    isRead: isRead === true && report.isOver,
    left,
    right,
  });
  const isKnown = isRead !== null || followed.error !== null;
  const toReview = useMemo(
    () =>
      changes
        .filter((change) => !change.is_undone)
        .flatMap((change) => change.cells)
        .filter(isToReview).length,
    [changes],
  );
  const cellNames = useMemo(
    () => Object.fromEntries(changes.flatMap((change) => change.cells.map((each) => [each.cell, nameOf(each)]))),
    [changes],
  );
  const tasksLeft = (story.plan?.tasks ?? []).filter(
    (task) => task.status === "planned" || task.status === "running",
  ).length;
  const counts: Partial<Record<Place, number>> = { plan: tasksLeft, changes: toReview };
  const tabOf = <Id extends Place>(id: Id): Tab<Id> => ({ id, title: TITLES[id], count: counts[id] });
  const show = (place: Place) => {
    const beside = layout.right.find((each) => each === place);
    if (beside === undefined) setLeft(place);
    else setRight(beside);
  };
  useEffect(() => {
    document.title = `${standing.asks > 0 ? "● " : ""}${story.goal?.words.slice(0, 60) ?? "Run"} · Cellwright`;
    return () => {
      document.title = "Cellwright";
    };
  }, [standing.asks, story.goal]);
  useKeys("This run", [
    ...PLACES.flatMap((place, at) =>
      layout.left.includes(place) || (layout.right.length > 1 && layout.right.some((each) => each === place))
        ? [{ keys: String(at + 1), does: TITLES[place], act: () => show(place) }]
        : [],
    ),
    {
      keys: "p",
      does: standing.isPaused ? "Resume" : "Pause",
      act: standing.isPaused ? commands.resume : commands.pause,
    },
    { keys: "s", does: "Stop and keep everything", act: () => !standing.isOver && commands.stop() },
    { keys: "u", does: "Undo…", act: commands.askUndo },
  ]);
  const panels: Record<Place, () => ReactNode> = {
    activity: () => (
      <Activity story={story} drafts={followed.drafts} cellNames={cellNames} onCell={setCell} onPlace={show} />
    ),
    plan: () => <PlanPanel followed={followed} isOver={standing.isOver} />,
    changes: () => <Changes followed={followed} selected={cell} onSelect={setCell} />,
    result: () => (
      <Result
        followed={followed}
        standing={standing}
        artifacts={report.artifacts}
        isAnswerBeside={isWide && isRead === true && layout.shownRight === "report"}
      />
    ),
    report: () =>
      report.name === null ? (
        <Loading what="Reading the report…" />
      ) : (
        <ReportFrame run={followed.run} name={report.name} />
      ),
    branches: () => <Branches followed={followed} />,
    notebook: () => <NotebookPane followed={followed} selected={cell} onSelect={setCell} />,
  };
  return (
    <div className={css.view}>
      <div className={css.left}>
        <RunHeader followed={followed} standing={standing} commands={commands} />
        <div className={css.tabRow}>
          <Tabs
            label="Views of this run"
            tabs={layout.left.map(tabOf)}
            selected={layout.shownLeft}
            onSelect={setLeft}
            idBase="run"
          />
        </div>
        <div key={layout.shownLeft} className={css.panel} {...panelProps("run", layout.shownLeft)}>
          {isKnown && panels[layout.shownLeft]()}
        </div>
        <Questions followed={followed} />
        <Chat followed={followed} isOver={standing.isOver} cell={cell} onCell={setCell} />
      </div>
      {isWide && (
        <WorkPane tabs={layout.right.map(tabOf)} shown={layout.shownRight} onSelect={setRight}>
          {panels[layout.shownRight]()}
        </WorkPane>
      )}
      <div className="visually-hidden" role="status" aria-live="polite">
        {spokenStanding(followed, standing)}
      </div>
      {commands.dialog}
    </div>
  );
}

interface Report {
  isOver: boolean;
  /** There is one to read. */
  isThere: boolean;
  /** `null`: not known yet. */
  name: string | null;
  artifacts: readonly Artifact[];
}

function useReport({ run, story, detail }: FollowedRun): Report {
  // Of a long run, the API tells the end before the stream does. The last stage is told before the files are there.
  const hasEnded = story.ended !== "" || (detail !== null && isOver(detail));
  const delivery = story.delivery ?? detail?.delivery ?? null;
  const found = useFetched(hasEnded ? calls.listArtifacts(run) : null);
  const artifacts = found.value?.artifacts ?? null;
  const name = artifacts?.find((each) => each.kind === "report")?.name ?? null;
  const isToCome = artifacts === null && found.error === null;
  return {
    isOver: hasEnded,
    isThere: hasEnded && delivery !== null && delivery.report !== "" && (isToCome || name !== null),
    name,
    artifacts: artifacts ?? [],
  };
}
