import { type FormEvent, useState } from "react";

import { calls, request } from "../../api/client";
import type { NewToolServer, ToolServer } from "../../api/types";
import { Button, Card, tell, tellProblem } from "../../parts";
import css from "./settings.module.css";

const FILES = { none: "nothing of it", read: "reads it; what it writes is forgotten", write: "reads it, and writes where you allow the call" } as const;
type Files = keyof typeof FILES;

interface Typed {
  name: string;
  what: string;
  packages: string;
  hosts: string;
  isPrivate: boolean;
  software: string;
  files: Files;
  secrets: readonly { variable: string; value: string }[];
}

const NOTHING: Typed = { name: "", what: "", packages: "", hosts: "", isPrivate: false, software: "", files: "none", secrets: [] };

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");

/** What is sent for what was typed. */
function bodyOf(typed: Typed): NewToolServer {
  const place = typed.what.trim();
  const secrets = Object.fromEntries(typed.secrets.filter(({ value }) => value !== "").map(({ variable, value }) => [variable.trim(), value]));
  if (/^https?:\/\//.test(place)) return { url: place, private_hosts: typed.isPrivate, secrets };
  return {
    command: words(place),
    packages: words(typed.packages),
    hosts: words(typed.hosts),
    private_hosts: typed.isPrivate,
    software: words(typed.software),
    files: typed.files,
    secrets,
  };
}

/** Names a server and has it asked at once; its card shows what it said, or why it cannot be used. */
export function AddServer({ onAdded }: { onAdded: (server: ToolServer) => void }) {
  const [typed, setTyped] = useState(NOTHING);
  const [isBusy, setBusy] = useState(false);
  const set = (part: Partial<Typed>) => setTyped({ ...typed, ...part });
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const name = typed.name.trim();
      const added = await request(calls.putToolServer(name, bodyOf(typed)));
      if (added.problem == null) tell(`${name} is added. Look at what its tools say.`);
      else tell(`${name} is added, but it cannot be used yet.`, `${added.problem.message} ${added.problem.hint}`.trim());
      setTyped(NOTHING);
      onAdded(added);
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Add a server">
      <form className={css.foldBody} onSubmit={(event) => void add(event)}>
        <span className={css.keyForm}>
          <label className={css.field}>
            Name
            <input type="text" placeholder="time" required value={typed.name} onChange={({ target }) => set({ name: target.value })} />
          </label>
          <label className={css.field}>
            Command or address
            <input
              type="text"
              placeholder="mcp-server-time, or https://…"
              required
              value={typed.what}
              onChange={({ target }) => set({ what: target.value })}
            />
          </label>
          <label className={css.field}>
            Python packages
            <input type="text" placeholder="mcp-server-time" value={typed.packages} onChange={({ target }) => set({ packages: target.value })} />
          </label>
        </span>
        <Reach typed={typed} set={set} />
        <Secrets secrets={typed.secrets} onChange={(secrets) => set({ secrets })} />
        <span className={css.rowActions}>
          <Button type="submit" size="small" look="primary" isBusy={isBusy}>
            Add and try
          </Button>
        </span>
      </form>
    </Card>
  );
}

/** What it sees and reaches: nothing, unless it is said here. */
function Reach({ typed, set }: { typed: Typed; set: (part: Partial<Typed>) => void }) {
  return (
    <span className={css.keyForm}>
      <label className={css.field}>
        Of the project it sees
        <select
          value={typed.files}
          onChange={({ target }) => set({ files: target.value === "read" || target.value === "write" ? target.value : "none" })}
        >
          {Object.entries(FILES).map(([id, means]) => (
            <option key={id} value={id}>
              {means}
            </option>
          ))}
        </select>
      </label>
      <label className={css.field}>
        Folders its command reads
        <input type="text" placeholder="/opt/servers" value={typed.software} onChange={({ target }) => set({ software: target.value })} />
      </label>
      <label className={css.field}>
        Hosts it may reach
        <input type="text" placeholder="none" value={typed.hosts} onChange={({ target }) => set({ hosts: target.value })} />
      </label>
      <label>
        <input type="checkbox" checked={typed.isPrivate} onChange={({ target }) => set({ isPrivate: target.checked })} /> They, or its
        address, may be this machine or its network
      </label>
    </span>
  );
}

/** Secrets it is given as variables; of one at an address, `token`. What was typed never comes back. */
function Secrets({ secrets, onChange }: { secrets: Typed["secrets"]; onChange: (secrets: Typed["secrets"]) => void }) {
  const change = (at: number, part: Partial<Typed["secrets"][number]>) =>
    onChange(secrets.map((each, place) => (place === at ? { ...each, ...part } : each)));
  return (
    <>
      {secrets.map((secret, at) => (
        <span key={at} className={css.keyForm}>
          <label className={css.field}>
            Variable
            <input
              type="text"
              placeholder="API_KEY, or token"
              required
              value={secret.variable}
              onChange={({ target }) => change(at, { variable: target.value })}
            />
          </label>
          <label className={css.field}>
            Secret
            <input type="password" autoComplete="off" required value={secret.value} onChange={({ target }) => change(at, { value: target.value })} />
          </label>
          <Button size="small" onClick={() => onChange(secrets.filter((_, place) => place !== at))}>
            Without it
          </Button>
        </span>
      ))}
      <span className={css.rowActions}>
        <Button size="small" onClick={() => onChange([...secrets, { variable: "", value: "" }])}>
          Give it a secret
        </Button>
      </span>
    </>
  );
}
