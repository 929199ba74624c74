import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import { calls, request } from "../../api/client";
import type { Connections, DataConnection } from "../../api/types";
import { Button, ButtonLink } from "../../parts";
import { usePageTitle } from "../runs/page-title";
import { NeedsScope, useMay } from "../settings/section";
import { UseCard, WhereCard } from "./form-cards";
import { type FormValues, bodyOf, mistakeIn, valuesOf } from "./form-values";
import { connectionPlace } from "./places";
import { type Tried, TriedNote } from "./tried-note";
import css from "./connections.module.css";

export interface ConnectionFormProps {
  connections: Connections;
  /** What is changed; null: a new one. */
  before: DataConnection | null;
  onSaved: () => void;
}

/** Everything about a connection. Its test saves it, opens it, and says what is wrong. */
export function ConnectionForm({ connections, before, onSaved }: ConnectionFormProps) {
  const [values, setValues] = useState(() => valuesOf(before));
  const [saved, setSaved] = useState(before?.name ?? "");
  const [isBusy, setBusy] = useState(false);
  const [tried, setTried] = useState<Tried | null>(null);
  const [mistake, setMistake] = useState("");
  const mayChange = useMay("admin");
  const title = saved === "" ? "Add a connection" : `Change ${saved}`;
  usePageTitle(title);
  const known = connections.connections.find((each) => each.name === saved) ?? before;
  const kind = connections.kinds.find((each) => each.kind === values.kind);
  const change = (to: Partial<FormValues>) => setValues((all) => ({ ...all, ...to }));
  const cards = { kind, known, values, onChange: change };
  const test = async (event: FormEvent) => {
    event.preventDefault();
    if (kind === undefined) return;
    const name = saved || values.name.trim();
    const taken = connections.connections.map((each) => each.name);
    const wrong = saved === "" ? mistakeIn({ ...values, name }, taken) : "";
    setMistake(wrong);
    if (wrong !== "") return;
    setBusy(true);
    setTried(null);
    try {
      const says = await request(calls.putConnection(name, bodyOf(values, kind)));
      setTried({ name, says });
      setSaved(name);
      // What was typed never comes back, here either.
      change({ name, secret: "", writerSecret: "" });
      onSaved();
    } catch (error) {
      setTried({ error });
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Link href={saved === "" ? "/connections" : connectionPlace(saved)} className={css.back}>
        ← {saved === "" ? "All connections" : saved}
      </Link>
      <h1>{title}</h1>
      {!mayChange && <NeedsScope scope="admin" />}
      <form className={css.form} onSubmit={(event) => void test(event)} autoComplete="off">
        <WhereCard {...cards} connections={connections} isSaved={saved !== ""} mistake={mistake} />
        <UseCard {...cards} />
        <div className={css.tried} aria-live="polite">
          {tried !== null && <TriedNote tried={tried} isSaved />}
        </div>
        <div className={css.actions}>
          <Button type="submit" look="primary" isBusy={isBusy} disabled={!mayChange}>
            {isBusy ? "Testing…" : "Save and test"}
          </Button>
          {tried !== null && "says" in tried && tried.says.is_open && (
            <ButtonLink href={connectionPlace(saved)}>Done</ButtonLink>
          )}
        </div>
      </form>
    </>
  );
}
