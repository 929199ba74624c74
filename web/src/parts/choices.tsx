import type { ReactNode } from "react";

import css from "./parts.module.css";

export interface ChoicesProps<Id extends string | number> {
  label: string;
  options: readonly { id: Id; title: ReactNode }[];
  selected: Id;
  onSelect: (id: Id) => void;
  /** A `switch` shows one thing in two or three ways; `pills` leave out some of many. */
  look?: "switch" | "pills";
  size?: "small" | "medium";
}

/** One of a few, all in sight. */
export function Choices<Id extends string | number>(props: ChoicesProps<Id>) {
  const { label, options, selected, onSelect, look = "switch", size = "medium" } = props;
  return (
    <div className={`${css[look]} ${size === "small" ? css.smallChoices : ""}`} role="group" aria-label={label}>
      {options.map(({ id, title }) => (
        <button key={id} type="button" aria-pressed={id === selected} onClick={() => onSelect(id)}>
          {title}
        </button>
      ))}
    </div>
  );
}
