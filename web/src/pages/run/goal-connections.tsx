import type { Connections } from "../../api/types";
import { useFetched } from "../../parts";
import css from "./goal.module.css";

export interface GoalConnectionsProps {
  picked: readonly string[];
  onPick: (picked: readonly string[]) => void;
}

/** Databases that a run may read without asking. */
export function GoalConnections({ picked, onPick }: GoalConnectionsProps) {
  const found = useFetched<Connections>("/connections?is_counted=false");
  const known = found.value?.connections ?? [];
  if (known.length === 0) return null;
  const toggle = (name: string) =>
    onPick(picked.includes(name) ? picked.filter((each) => each !== name) : [...picked, name]);
  return (
    <fieldset className={css.connections}>
      <legend>Databases it may read</legend>
      {known.map(({ name, leads_to }) => (
        <label key={name} data-picked={picked.includes(name)} title={leads_to}>
          <input type="checkbox" checked={picked.includes(name)} onChange={() => toggle(name)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}
