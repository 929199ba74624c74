import css from "./goal.module.css";

export interface GoalPicksProps {
  legend: string;
  known: readonly { name: string; leads_to: string }[];
  picked: readonly string[];
  onPick: (picked: readonly string[]) => void;
}

/** What a run may use, of what there is: connections, tool servers. Nothing, where there is none. */
export function GoalPicks({ legend, known, picked, onPick }: GoalPicksProps) {
  if (known.length === 0) return null;
  const toggle = (name: string) =>
    onPick(picked.includes(name) ? picked.filter((each) => each !== name) : [...picked, name]);
  return (
    <fieldset className={css.connections}>
      <legend>{legend}</legend>
      {known.map(({ name, leads_to }) => (
        <label key={name} data-picked={picked.includes(name)} title={leads_to}>
          <input type="checkbox" checked={picked.includes(name)} onChange={() => toggle(name)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}
