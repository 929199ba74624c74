import type { ExtractBody, ResearchBody } from "../../api/types";
import css from "./goal.module.css";

type Outcome = "answer" | "research" | "extract";

/** What is to come of a goal, and what only that kind of work asks. */
export interface WantedOutcome {
  outcome: Outcome;
  form: string;
  usesWeb: boolean;
  search: string;
  fields: string;
  hasManyRows: boolean;
  isReadTwice: boolean;
}

export const AN_ANSWER: WantedOutcome = {
  outcome: "answer",
  form: "report",
  usesWeb: false,
  search: "",
  fields: "",
  hasManyRows: false,
  isReadTwice: false,
};

const OUTCOMES: { id: Outcome; title: string; means: string }[] = [
  { id: "answer", title: "An answer", means: "A notebook that computes it from data." },
  { id: "research", title: "A report from documents", means: "Each sentence with the quotes it rests on." },
  { id: "extract", title: "A table from documents", means: "A row for each, each value with its quote." },
];
const FORMS = ["report", "brief", "slides", "blog"];

/** What the goal's files are for: data of a notebook, or the documents that are read. */
export function forFiles(wanted: WantedOutcome, files: string[]): { data: string[]; research: ResearchBody | null; extract: ExtractBody | null } {
  if (wanted.outcome === "research") {
    const research = { sources: files, uses_web: wanted.usesWeb, search: wanted.search.trim(), form: wanted.form };
    return { data: [], research, extract: null };
  }
  if (wanted.outcome === "extract") {
    const extract = {
      fields: wanted.fields.trim(),
      documents: files,
      readings: wanted.isReadTwice ? 2 : 1,
      has_many_rows: wanted.hasManyRows,
    };
    return { data: [], research: null, extract };
  }
  return { data: files, research: null, extract: null };
}

/** What is still to be said before it can start; "": nothing. */
export function missing({ outcome, fields }: WantedOutcome, files: number, hasModel: boolean): string {
  if (outcome !== "answer" && !hasModel) return "Documents are read by a model: connect one first.";
  if (outcome !== "extract") return "";
  if (fields.trim() === "") return "Say which fields the table has.";
  return files === 0 ? "Add the documents to read." : "";
}

export interface GoalOutcomeProps {
  wanted: WantedOutcome;
  onChange: (wanted: WantedOutcome) => void;
}

export function GoalOutcome({ wanted, onChange }: GoalOutcomeProps) {
  const change = (to: Partial<WantedOutcome>) => onChange({ ...wanted, ...to });
  return (
    <>
      <fieldset className={css.modes}>
        <legend className="visually-hidden">What comes of it</legend>
        {OUTCOMES.map(({ id, title, means }) => (
          <label key={id} data-picked={wanted.outcome === id}>
            <input type="radio" name="outcome" checked={wanted.outcome === id} onChange={() => change({ outcome: id })} />
            <strong>{title}</strong>
            <span>{means}</span>
          </label>
        ))}
      </fieldset>
      {wanted.outcome === "research" && (
        <div className={css.options}>
          <label>
            <span>Written as</span>
            <select value={wanted.form} onChange={({ target }) => change({ form: target.value })}>
              {FORMS.map((form) => (
                <option key={form}>{form}</option>
              ))}
            </select>
          </label>
          <label className={css.grow}>
            <span>Search engine</span>
            <input
              value={wanted.search}
              onChange={({ target }) => change({ search: target.value, usesWeb: wanted.usesWeb || target.value !== "" })}
              placeholder="none; brave:CONNECTION, searxng:https://HOST …"
              spellCheck={false}
              autoCapitalize="none"
            />
          </label>
          <Check title="It may read the web: you are asked about hosts" isOn={wanted.usesWeb} onChange={(usesWeb) => change({ usesWeb })} />
        </div>
      )}
      {wanted.outcome === "extract" && (
        <div className={css.options}>
          <label className={css.grow}>
            <span>Fields: text, number, integer, date or boolean</span>
            <input
              value={wanted.fields}
              onChange={({ target }) => change({ fields: target.value })}
              placeholder="party, date:date, amount:number"
              spellCheck={false}
              autoCapitalize="none"
            />
          </label>
          <Check title="A document may hold several rows" isOn={wanted.hasManyRows} onChange={(hasManyRows) => change({ hasManyRows })} />
          <Check title="Read each twice and mark what differs" isOn={wanted.isReadTwice} onChange={(isReadTwice) => change({ isReadTwice })} />
        </div>
      )}
    </>
  );
}

function Check({ title, isOn, onChange }: { title: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label className={css.check}>
      <input type="checkbox" checked={isOn} onChange={({ target }) => onChange(target.checked)} />
      {title}
    </label>
  );
}
