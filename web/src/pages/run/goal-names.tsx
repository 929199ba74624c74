import css from "./goal.module.css";

export interface GoalNamesProps {
  /** Null: there is no tool server whose context could be named. */
  context: string | null;
  onContext: (context: string) => void;
  kernels: string;
  onKernels: (kernels: string) => void;
  /** A notebook in somebody's own marimo: the address of that, or the file it has open. */
  attached: string;
  onAttached: (attached: string) => void;
}

/** The names in what was typed: between commas or blanks. */
export function namesIn(typed: string): string[] {
  return typed.split(/[\s,]+/).filter((each) => each !== "");
}

/** What was typed of a notebook in somebody's own marimo. */
export function attachedIn(typed: string): { attach: string; attach_file: string } {
  const word = typed.trim();
  return /^https?:\/\//.test(word) ? { attach: word, attach_file: "" } : { attach: "", attach_file: word };
}

/** What few goals need, and what is told by its name: what tool servers let one read, kernels of other languages, notebooks that
 * are open elsewhere. */
export function GoalNames({ context, onContext, kernels, onKernels, attached, onAttached }: GoalNamesProps) {
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
        <label className={css.grow}>
          <span>Change a notebook that is open in marimo</span>
          <input value={attached} onChange={(event) => onAttached(event.target.value)} placeholder="its file, or http://127.0.0.1:2718" />
        </label>
      </div>
    </details>
  );
}
