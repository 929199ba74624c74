import { useId } from "react";

import type { SourceKind } from "../../api/types";
import { exampleOf, optionWord } from "./kind-words";
import css from "./connections.module.css";

const TLS = [
  ["", "if the server has it"],
  ["off", "never"],
  ["require", "always"],
  ["verify", "always, and its certificate is checked"],
] as const;

export interface OptionFieldProps {
  kind: SourceKind;
  option: string;
  isNeeded?: boolean;
  value: string;
  onType: (value: string) => void;
}

/** One option of a kind. */
export function OptionField({ kind, option, isNeeded = false, value, onType }: OptionFieldProps) {
  return (
    <label className={css.field} data-wide={option === "path"}>
      <span>
        {optionWord(option)}
        {!isNeeded && <small> optional</small>}
      </span>
      {option === "tls" ? (
        <select value={value === "prefer" ? "" : value} onChange={({ target }) => onType(target.value)}>
          {TLS.map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      ) : (
        <input
          value={value}
          required={isNeeded}
          placeholder={exampleOf(option, kind)}
          inputMode={option === "port" ? "numeric" : "text"}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          onChange={({ target }) => onType(target.value)}
        />
      )}
    </label>
  );
}

export interface SecretFieldProps {
  title: string;
  /** Where one is; "": nowhere. */
  kept: string;
  value: string;
  onType: (value: string) => void;
}

/** Takes a secret; what is kept is never filled in. */
export function SecretField({ title, kept, value, onType }: SecretFieldProps) {
  return (
    <label className={css.field}>
      <span>{title}</span>
      <input
        type="password"
        value={value}
        autoComplete="new-password"
        spellCheck={false}
        placeholder={kept === "" ? "never shown again" : "kept; type to replace it"}
        title={kept}
        onChange={({ target }) => onType(target.value)}
      />
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
