import { type FormEvent, useState } from "react";

import { calls, request } from "../../api/client";
import type { Why } from "../../api/types";
import { Button, Card, ProblemBanner } from "../../parts";
import { FIRST_WANTED, type Field, SAYINGS, WANTED, type Wanted, actionOf } from "./wanted";
import css from "./settings.module.css";

/** Why would this ask? Judged as it would be for an agent; nothing is done. */
export function WhyForm({ folder }: { folder: string }) {
  const [wanted, setWanted] = useState<Wanted>(FIRST_WANTED);
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [why, setWhy] = useState<Why | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      setWhy(await request(calls.explainRules(actionOf(wanted, typed, folder))));
      setError(null);
    } catch (problem) {
      setError(problem);
      setWhy(null);
    } finally {
      setBusy(false);
    }
  };
  const choose = (action: string) => {
    setWanted(WANTED.find((each) => each.action === action) ?? wanted);
    setTyped({});
    setWhy(null);
  };
  return (
    <Card title="Why would this ask?">
      <form className={css.why} onSubmit={(event) => void ask(event)}>
        <label className={css.field}>
          <span>An agent wants to</span>
          <select value={wanted.action} onChange={(event) => choose(event.target.value)}>
            {WANTED.map((each) => (
              <option key={each.action} value={each.action}>
                {each.title.charAt(0).toLowerCase() + each.title.slice(1)}
              </option>
            ))}
          </select>
        </label>
        {wanted.fields.map((field) => (
          <WhyField key={field.name} field={field} value={typed[field.name] ?? ""} onType={(text) => setTyped({ ...typed, [field.name]: text })} />
        ))}
        <Button type="submit" look="primary" isBusy={isBusy}>
          Judge it
        </Button>
      </form>
      <div aria-live="polite" className={css.verdictSlot}>
        {error !== null && <ProblemBanner error={error} />}
        {why !== null && <Verdict why={why} />}
        {error === null && why === null && <p className={css.faint}>Nothing is done: it only says what would happen, and which rule decides.</p>}
      </div>
    </Card>
  );
}

function WhyField({ field, value, onType }: { field: Field; value: string; onType: (text: string) => void }) {
  return (
    <label className={css.field}>
      <span>{field.title}</span>
      {field.as === "access" ? (
        <select value={value || "read"} onChange={(event) => onType(event.target.value)}>
          <option value="read">read</option>
          <option value="write">change data</option>
        </select>
      ) : (
        <input
          type={field.as === "number" ? "number" : "text"}
          placeholder={field.example}
          value={value}
          min={field.as === "number" ? 1 : undefined}
          onChange={(event) => onType(event.target.value)}
        />
      )}
    </label>
  );
}

function Verdict({ why }: { why: Why }) {
  return (
    <div className={css.verdict}>
      <span className={css.saying} data-says={why.verdict}>
        {SAYINGS[why.verdict]}
      </span>
      <div>
        <p>{why.says}</p>
        <p className={css.faint}>
          {why.describes.split("\n")[0]} · decided by {why.basis}
        </p>
      </div>
    </div>
  );
}
