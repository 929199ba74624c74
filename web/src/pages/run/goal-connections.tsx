import type { DataConnection } from "../../api/types";
import css from "./goal.module.css";

export interface GoalConnectionsProps {
  known: readonly DataConnection[];
  picked: readonly string[];
  onPick: (picked: readonly string[]) => void;
}

/** Connections that a run may read without asking. */
export function GoalConnections({ known, picked, onPick }: GoalConnectionsProps) {
  if (known.length === 0) return null;
  const toggle = (name: string) =>
    onPick(picked.includes(name) ? picked.filter((each) => each !== name) : [...picked, name]);
  return (
    <fieldset className={css.connections}>
      <legend>Connections it may read</legend>
      {known.map(({ name, leads_to }) => (
        <label key={name} data-picked={picked.includes(name)} title={leads_to}>
          <input type="checkbox" checked={picked.includes(name)} onChange={() => toggle(name)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}
