import type { Connections, DataConnection, SourceKind } from "../../api/types";
import { Banner, Card } from "../../parts";
import { Lines, OptionField, SecretField } from "./form-fields";
import type { FormValues } from "./form-values";
import { hasLongSecret, keptWords, kindWord, secretWord } from "./kind-words";
import css from "./connections.module.css";

export interface FormCardProps {
  /** What the chosen kind takes. */
  kind: SourceKind | undefined;
  /** As it is saved; null: it is not. */
  known: DataConnection | null;
  values: FormValues;
  onChange: (to: Partial<FormValues>) => void;
}

export interface WhereCardProps extends FormCardProps {
  connections: Connections;
  isSaved: boolean;
  mistake: string;
}

/** Name, kind, and what the kind needs to be opened. */
export function WhereCard({ kind, known, values, onChange, connections, isSaved, mistake }: WhereCardProps) {
  const option = (name: string, isNeeded: boolean) =>
    kind !== undefined && (
      <OptionField
        key={name}
        kind={kind}
        option={name}
        isNeeded={isNeeded}
        value={values.options[name] ?? ""}
        onType={(value) => onChange({ options: { ...values.options, [name]: value } })}
      />
    );
  const choose = (chosen: string) =>
    onChange({ kind: connections.kinds.find((each) => each.kind === chosen)?.kind ?? values.kind });
  return (
    <Card title="Where it leads">
      <div className={css.fields}>
        <label className={css.field}>
          <span>Name in notebooks</span>
          <input
            value={values.name}
            placeholder="shop"
            required
            readOnly={isSaved}
            autoFocus={!isSaved}
            spellCheck={false}
            autoCapitalize="none"
            aria-invalid={mistake !== ""}
            aria-describedby="name-mistake"
            onChange={({ target }) => onChange({ name: target.value })}
          />
        </label>
        <label className={css.field}>
          <span>Kind</span>
          <select value={values.kind} onChange={({ target }) => choose(target.value)}>
            {groupsOf(connections.kinds).map(({ title, kinds }) => (
              <optgroup key={title} label={title}>
                {kinds.map((each) => (
                  <option key={each.kind} value={each.kind}>
                    {kindWord(each.kind)}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
        {kind?.needed.map((name) => option(name, true))}
        {kind?.is_file === false && known?.secret_in !== "command" && (
          <SecretField
            title={secretWord(kind.kind)}
            isLong={hasLongSecret(kind.kind)}
            kept={keptWords(known?.secret_in ?? "")}
            value={values.secret}
            onType={(secret) => onChange({ secret })}
          />
        )}
        {kind?.known.map((name) => option(name, false))}
      </div>
      <p id="name-mistake" className={css.mistake} role="alert">
        {mistake}
      </p>
      {known?.secret_in === "command" && (
        <p className={css.faint}>Its secret is told by a command, which stands in connections.toml.</p>
      )}
      {kind?.is_file === true && <p className={css.faint}>It is opened in a cage, and only read. It needs no secret.</p>}
      {kind?.is_untried === true && (
        <Banner tone="warn">
          <strong>Never tried against the service.</strong> It is written by {kindWord(kind.kind)}’s documentation alone;
          what does not work, please report.
        </Banner>
      )}
    </Card>
  );
}

function groupsOf(kinds: readonly SourceKind[]): { title: string; kinds: SourceKind[] }[] {
  return [
    { title: "Databases", kinds: kinds.filter(({ ways }) => ways.includes("sql")) },
    { title: "Buckets and files", kinds: kinds.filter(({ ways }) => ways.includes("files")) },
    { title: "APIs", kinds: kinds.filter(({ ways }) => !ways.includes("sql") && !ways.includes("files")) },
  ];
}

/** What nobody sees, whose notebooks may use it, and who makes changes. */
export function UseCard({ kind, known, values, onChange }: FormCardProps) {
  const isDatabase = kind?.ways.includes("sql") === true;
  return (
    <Card title="What it may be used for">
      <div className={css.fields}>
        {isDatabase && (
          <Lines
            title="Masked columns"
            means="Values of these nobody sees, not even in a sum or a filter. One a line."
            example={"customers.email\npublic.staff.*"}
            value={values.masked}
            onType={(masked) => onChange({ masked })}
          />
        )}
        <Lines
          title="Folders whose notebooks may use it"
          means="Whole paths, one a line. None: all."
          example="/home/ada/shop"
          value={values.projects}
          onType={(projects) => onChange({ projects })}
        />
      </div>
      {isDatabase && kind?.is_file === false && (
        <details className={css.writer} open={(known?.writer ?? "") !== "" || undefined}>
          <summary>Let agents ask to change data</summary>
          <p className={css.faint}>
            Changes are made as another user, and each only after you saw its text, how many rows it changes, and said
            yes. Without one, nothing is ever written.
          </p>
          <div className={css.fields}>
            <label className={css.field}>
              <span>User for changes</span>
              <input
                value={values.writer}
                placeholder="none"
                spellCheck={false}
                autoCapitalize="none"
                autoComplete="off"
                onChange={({ target }) => onChange({ writer: target.value })}
              />
            </label>
            <SecretField
              title="Secret of that user"
              kept={keptWords(known?.writer_secret_in ?? "")}
              value={values.writerSecret}
              onType={(writerSecret) => onChange({ writerSecret })}
            />
          </div>
        </details>
      )}
    </Card>
  );
}
