import css from "./goal.module.css";

export interface GoalNamesProps {
  /** Null: there is no tool server whose context could be named. */
  context: string | null;
  onContext: (context: string) => void;
  kernels: string;
  onKernels: (kernels: string) => void;
}

/** The names in what was typed: between commas or blanks. */
export function namesIn(typed: string): string[] {
  return typed.split(/[\s,]+/).filter((each) => each !== "");
}

/** What few goals need, and what is told by its name: what tool servers let one read, kernels of other languages. */
export function GoalNames({ context, onContext, kernels, onKernels }: GoalNamesProps) {
  return (
    <details className={css.names}>
      <summary>More it may use</summary>
      <div className={css.options}>
        {context !== null && (
          <label className={css.grow}>
            <span>Context of tool servers</span>
            <input value={context} onChange={(event) => onContext(event.target.value)} placeholder="SERVER:address" />
          </label>
        )}
        <label className={css.grow}>
          <span>Kernels of Jupyter</span>
          <input value={kernels} onChange={(event) => onKernels(event.target.value)} placeholder="ir" />
        </label>
      </div>
    </details>
  );
}
