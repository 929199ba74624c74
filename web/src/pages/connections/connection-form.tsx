import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import { put } from "../../api/client";
import type { Connections, DataConnection, TriedConnection } from "../../api/types";
import { Banner, Button, ButtonLink, Card } from "../../parts";
import { usePageTitle } from "../runs/page-title";
import { NeedsScope, useMay } from "../settings/section";
import { Lines, OptionField, SecretField } from "./form-fields";
import { type FormValues, bodyOf, mistakeIn, valuesOf } from "./form-values";
import { keptWords, kindWord, secretWord } from "./kind-words";
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
  const option = (name: string) => (value: string) =>
    setValues((all) => ({ ...all, options: { ...all.options, [name]: value } }));
  const test = async (event: FormEvent) => {
    event.preventDefault();
    if (kind === undefined) return;
    const name = saved || values.name.trim();
    const wrong = saved === "" ? mistakeIn({ ...values, name }, connections.connections.map((each) => each.name)) : "";
    setMistake(wrong);
    if (wrong !== "") return;
    setBusy(true);
    setTried(null);
    try {
      const says = await put<TriedConnection>(`/connections/${name}`, bodyOf(values, kind));
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
        <Card title="Where it leads">
          <div className={css.fields}>
            <label className={css.field}>
              <span>Name in notebooks</span>
              <input
                value={values.name}
                placeholder="shop"
                required
                readOnly={saved !== ""}
                autoFocus={saved === ""}
                spellCheck={false}
                autoCapitalize="none"
                aria-invalid={mistake !== ""}
                aria-describedby="name-mistake"
                onChange={({ target }) => change({ name: target.value })}
              />
            </label>
            <label className={css.field}>
              <span>Kind</span>
              <select value={values.kind} onChange={({ target }) => change({ kind: connections.kinds.find((each) => each.kind === target.value)?.kind ?? values.kind })}>
                {connections.kinds.map((each) => (
                  <option key={each.kind} value={each.kind}>
                    {kindWord(each.kind)}
                  </option>
                ))}
              </select>
            </label>
            {kind?.needed.map((name) => (
              <OptionField key={name} kind={kind} option={name} isNeeded value={values.options[name] ?? ""} onType={option(name)} />
            ))}
            {kind !== undefined && !kind.is_file && known?.secret_in !== "command" && (
              <SecretField
                title={secretWord(kind.kind)}
                kept={keptWords(known?.secret_in ?? "")}
                value={values.secret}
                onType={(secret) => change({ secret })}
              />
            )}
            {kind?.known.map((name) => (
              <OptionField key={name} kind={kind} option={name} value={values.options[name] ?? ""} onType={option(name)} />
            ))}
          </div>
          <p id="name-mistake" className={css.mistake} role="alert">
            {mistake}
          </p>
          {known?.secret_in === "command" && <p className={css.faint}>Its secret is told by a command, which stands in connections.toml.</p>}
          {kind?.is_file === true && <p className={css.faint}>It is opened in a cage, and only read. It needs no secret.</p>}
          {kind?.is_untried === true && (
            <Banner tone="warn">
              <strong>Never tried against the service.</strong> It is written by {kindWord(kind.kind)}’s documentation alone; what does not work, please report.
            </Banner>
          )}
        </Card>
        <Card title="What it may be used for">
          <div className={css.fields}>
            <Lines
              title="Masked columns"
              means="Values of these nobody sees, not even in a sum or a filter. One a line."
              example={"customers.email\npublic.staff.*"}
              value={values.masked}
              onType={(masked) => change({ masked })}
            />
            <Lines
              title="Folders whose notebooks may use it"
              means="Whole paths, one a line. None: all."
              example="/home/ada/shop"
              value={values.projects}
              onType={(projects) => change({ projects })}
            />
          </div>
          {kind?.is_file === false && (
            <details className={css.writer} open={values.writer !== "" || undefined}>
              <summary>Let agents ask to change data</summary>
              <p className={css.faint}>
                Changes are made as another user, and each only after you saw its text, how many rows it changes, and said yes. Without one, nothing is ever written.
              </p>
              <div className={css.fields}>
                <label className={css.field}>
                  <span>User for changes</span>
                  <input value={values.writer} placeholder="none" spellCheck={false} autoCapitalize="none" autoComplete="off" onChange={({ target }) => change({ writer: target.value })} />
                </label>
                <SecretField
                  title="Secret of that user"
                  kept={keptWords(known?.writer_secret_in ?? "")}
                  value={values.writerSecret}
                  onType={(writerSecret) => change({ writerSecret })}
                />
              </div>
            </details>
          )}
        </Card>
        <div className={css.tried} aria-live="polite">
          {tried !== null && <TriedNote tried={tried} isSaved />}
        </div>
        <div className={css.actions}>
          <Button type="submit" look="primary" isBusy={isBusy} disabled={!mayChange}>
            {isBusy ? "Testing…" : "Save and test"}
          </Button>
          {tried !== null && "says" in tried && tried.says.is_open && <ButtonLink href={connectionPlace(saved)}>Done</ButtonLink>}
        </div>
      </form>
    </>
  );
}
