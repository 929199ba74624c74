import { useId } from "react";

import type { SourceKind } from "../../api/types";
import { optionWords } from "./kind-words";
import css from "./connections.module.css";

const DATABASE_TLS = [
  ["", "if the server has it"],
  ["off", "never"],
  ["require", "always"],
  ["verify", "always, and its certificate is checked"],
] as const;

/** What speaks HTTP checks certificates, or says so. */
const WEB_TLS = [
  ["", "always, and its certificate is checked"],
  ["off", "not needed: http:// is allowed, which others can read"],
] as const;

export interface OptionFieldProps {
  kind: SourceKind;
  option: string;
  isNeeded?: boolean;
  value: string;
  onType: (value: string) => void;
}

const WIDE: readonly string[] = ["url", "buckets"];

/** One option of a kind. */
export function OptionField({ kind, option, isNeeded = false, value, onType }: OptionFieldProps) {
  const id = useId();
  const { title, example, help } = optionWords(option, kind);
  const isDatabase = kind.ways.includes("sql");
  const modes = isDatabase ? DATABASE_TLS : WEB_TLS;
  return (
    <div className={css.field} data-wide={WIDE.includes(option) || (option === "path" && isDatabase)}>
      <label htmlFor={`${id}-box`}>
        {title}
        {!isNeeded && <small> optional</small>}
      </label>
      {option === "tls" ? (
        <select id={`${id}-box`} value={modes.some(([mode]) => mode === value) ? value : ""} onChange={({ target }) => onType(target.value)}>
          {modes.map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={`${id}-box`}
          value={value}
          required={isNeeded}
          placeholder={example}
          inputMode={option === "port" ? "numeric" : "text"}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          aria-describedby={help === undefined ? undefined : id}
          onChange={({ target }) => onType(target.value)}
        />
      )}
      {help !== undefined && <small id={id}>{help}</small>}
    </div>
  );
}

export interface SecretFieldProps {
  title: string;
  /** It may have several lines: a private key. */
  isLong?: boolean;
  /** Where one is; "": nowhere. */
  kept: string;
  value: string;
  onType: (value: string) => void;
}

/** Takes a secret; what is kept is never filled in. */
export function SecretField({ title, isLong = false, kept, value, onType }: SecretFieldProps) {
  const given = {
    value,
    spellCheck: false,
    placeholder: kept === "" ? "never shown again" : "kept; type to replace it",
    title: kept,
  };
  return (
    <label className={css.field}>
      <span>{title}</span>
      {isLong ? (
        <textarea {...given} rows={2} className={css.dots} autoComplete="off" onChange={({ target }) => onType(target.value)} />
      ) : (
        <input {...given} type="password" autoComplete="new-password" onChange={({ target }) => onType(target.value)} />
      )}
    </label>
  );
}

export interface LinesProps {
  title: string;
  means: string;
  example: string;
  value: string;
  onType: (value: string) => void;
}

/** Several, one a line. */
export function Lines({ title, means, example, value, onType }: LinesProps) {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={`${id}-box`}>{title}</label>
      <textarea
        id={`${id}-box`}
        rows={3}
        value={value}
        placeholder={example}
        spellCheck={false}
        aria-describedby={id}
        onChange={({ target }) => onType(target.value)}
      />
      <small id={id}>{means}</small>
    </div>
  );
}
