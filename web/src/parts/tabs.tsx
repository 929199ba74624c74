import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";

import css from "./parts.module.css";

export interface Tab<Id extends string> {
  id: Id;
  title: ReactNode;
  count?: number | undefined;
  /** Whether the count calls for the person. */
  isCalling?: boolean;
}

export interface TabsProps<Id extends string> {
  label: string;
  tabs: Tab<Id>[];
  selected: Id;
  onSelect: (id: Id) => void;
  /** Ties tabs to their panels: `${idBase}-tab-ID` and `${idBase}-panel-ID`. */
  idBase: string;
}

/** A row of tabs, arrows included. The panel is yours: spread `panelProps` on it. */
export function Tabs<Id extends string>({ label, tabs, selected, onSelect, idBase }: TabsProps<Id>) {
  const row = useRef<HTMLDivElement>(null);
  // A tab or a number that comes later pushes the others aside.
  const shape = tabs.map((tab) => `${tab.id} ${tab.count ?? ""}`).join();
  useEffect(() => {
    row.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [selected, shape]);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === selected);
    const move = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    const next = move === undefined ? undefined : tabs[(move + tabs.length) % tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next.id);
    row.current?.querySelector<HTMLElement>(`#${CSS.escape(`${idBase}-tab-${next.id}`)}`)?.focus();
  };
  return (
    <div className={css.tabs} role="tablist" aria-label={label} ref={row} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={`${idBase}-tab-${tab.id}`}
          aria-selected={tab.id === selected}
          aria-controls={tab.id === selected ? `${idBase}-panel-${tab.id}` : undefined}
          tabIndex={tab.id === selected ? 0 : -1}
          className={css.tab}
          onClick={() => onSelect(tab.id)}
        >
          {tab.title}
          {tab.count !== undefined && tab.count > 0 && (
            <span className={`${css.count} ${tab.isCalling ? css.countCalls : ""}`}>{tab.count}</span>
          )}
        </button>
      ))}
    </div>
  );
}

export function panelProps(idBase: string, id: string) {
  return { role: "tabpanel", id: `${idBase}-panel-${id}`, "aria-labelledby": `${idBase}-tab-${id}` } as const;
}
