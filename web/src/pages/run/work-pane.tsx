import type { ReactNode } from "react";

import { type Tab, Tabs, panelProps } from "../../parts";
import type { WorkPlace } from "./places";
import css from "./run.module.css";

export interface WorkPaneProps {
  tabs: Tab<WorkPlace>[];
  shown: WorkPlace;
  onSelect: (place: WorkPlace) => void;
  children: ReactNode;
}

/** What the agents made, beside what they say about it. A single view needs no tabs. */
export function WorkPane({ tabs, shown, onSelect, children }: WorkPaneProps) {
  if (tabs.length < 2) return <div className={css.right}>{children}</div>;
  return (
    <div className={css.right}>
      <div className={css.workTabs}>
        <Tabs label="What it made" tabs={tabs} selected={shown} onSelect={onSelect} idBase="work" />
      </div>
      <div key={shown} className={css.panel} {...panelProps("work", shown)}>
        {children}
      </div>
    </div>
  );
}
