import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";

import { Loading, ProblemBanner, type Tab, Tabs, panelProps, useKeys } from "../../parts";
import { Activity } from "./activity";
import { isToReview, nameOf } from "./change-rows";
import { Changes } from "./changes";
import { Chat } from "./chat";
import { useCommands } from "./commands";
import { type FollowedRun, useRun } from "./follow-run";
import { NotebookPane } from "./notebook-pane";
import { PlanPanel } from "./plan-panel";
import { Questions } from "./questions";
import { Result } from "./result";
import { RunHeader } from "./run-header";
import { spokenStanding, standingOf } from "./standing";
import css from "./run.module.css";

type Place = "activity" | "plan" | "changes" | "result" | "notebook";

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
  const [place, setPlace] = useState<Place>("activity");
  const [cell, setCell] = useState<string | null>(null);
  const shown = isWide && place === "notebook" ? "activity" : place;
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
  const tabs: Tab<Place>[] = [
    { id: "activity", title: "Activity" },
    { id: "plan", title: "Plan", count: tasksLeft },
    { id: "changes", title: "Changes", count: toReview },
    { id: "result", title: "Result" },
  ];
  if (!isWide) tabs.push({ id: "notebook", title: "Notebook" });
  useEffect(() => {
    document.title = `${standing.asks > 0 ? "● " : ""}${story.goal?.words.slice(0, 60) ?? "Run"} · Cellwright`;
    return () => {
      document.title = "Cellwright";
    };
  }, [standing.asks, story.goal]);
  useKeys("This run", [
    ...tabs.map((tab, at) => ({ keys: String(at + 1), does: String(tab.title), act: () => setPlace(tab.id) })),
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
      <Activity story={story} cellNames={cellNames} onCell={setCell} onPlace={setPlace} />
    ),
    plan: () => <PlanPanel followed={followed} isOver={standing.isOver} />,
    changes: () => <Changes followed={followed} selected={cell} onSelect={setCell} />,
    result: () => <Result followed={followed} standing={standing} />,
    notebook: () => <NotebookPane followed={followed} selected={cell} onSelect={setCell} />,
  };
  return (
    <div className={css.view}>
      <div className={css.left}>
        <RunHeader followed={followed} standing={standing} commands={commands} />
        <div className={css.tabRow}>
          <Tabs label="Views of this run" tabs={tabs} selected={shown} onSelect={setPlace} idBase="run" />
        </div>
        <div key={shown} className={css.panel} {...panelProps("run", shown)}>
          {panels[shown]()}
        </div>
        <Questions followed={followed} />
        <Chat followed={followed} isOver={standing.isOver} cell={cell} onCell={setCell} />
      </div>
      {isWide && (
        <div className={css.right}>
          <NotebookPane followed={followed} selected={cell} onSelect={setCell} />
        </div>
      )}
      <div className="visually-hidden" role="status" aria-live="polite">
        {spokenStanding(followed, standing)}
      </div>
      {commands.dialog}
    </div>
  );
}
