import { type FormEvent, useState } from "react";

import { calls, request } from "../../api/client";
import type { Provider } from "../../api/types";
import { Button, tell, tellProblem } from "../../parts";
import css from "./settings.module.css";

export interface ProviderRowProps {
  provider: Provider;
  mayChange: boolean;
  onChanged: () => void;
}

/** One provider: whether a key is set, and a field that takes a new one. What was typed never comes back. */
export function ProviderRow({ provider, mayChange, onChanged }: ProviderRowProps) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const forget = async () => {
    setBusy(true);
    try {
      await request(calls.removeKey(provider.name));
      tell(`The key of ${provider.name} is forgotten.`);
      onChanged();
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const isKept = provider.key_from === "keyring" || provider.key_from === "file";
  const needsNone = provider.key_from === "not needed";
  return (
    <li className={css.row}>
      <span className={css.rowMain}>
        <b>{provider.name}</b>
        <span className={css.faint}>{standing(provider)}</span>
      </span>
      {mayChange && !needsNone && (
        <span className={css.rowActions}>
          {isKept && (
            <Button size="small" look="danger" isBusy={isBusy} onClick={() => void forget()} aria-label={`Remove the key of ${provider.name}`}>
              Remove
            </Button>
          )}
          <Button size="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} aria-label={`${isKept ? "Replace" : "Set"} key of ${provider.name}`}>
            {isKept ? "Replace key" : "Set key"}
          </Button>
        </span>
      )}
      {isOpen && (
        <KeyForm
          provider={provider.name}
          onKept={() => {
            setOpen(false);
            onChanged();
          }}
        />
      )}
    </li>
  );
}

function standing(provider: Provider): string {
  if (provider.key_from === "not needed") return provider.is_ready ? "needs no key" : provider.needs || "does not answer";
  if (provider.key_from === "") return "no key";
  const where = provider.key_from === "environment" ? "from the environment of the server" : `kept in the ${provider.key_from}`;
  return `a key is set, ${where}`;
}

/** Takes a key once. `isQuiet`: it does not take the focus. */
export function KeyForm({ provider, onKept, isQuiet = false }: { provider: string; onKept: () => void; isQuiet?: boolean }) {
  const [key, setKey] = useState("");
  const [isBusy, setBusy] = useState(false);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await request(calls.setKey(provider, { key: key.trim() }));
      setKey("");
      tell(`The key of ${provider} is kept.`, "Agents can use it from now on.");
      onKept();
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className={css.keyForm} onSubmit={(event) => void save(event)}>
      <input
        type="password"
        className={css.grow}
        aria-label={`API key of ${provider}`}
        placeholder="Paste the key; it is never shown again"
        autoComplete="off"
        spellCheck={false}
        autoFocus={!isQuiet}
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      <Button type="submit" look="primary" isBusy={isBusy} disabled={key.trim() === ""}>
        Keep it
      </Button>
    </form>
  );
}
