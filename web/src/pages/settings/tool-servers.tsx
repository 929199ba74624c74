import { useState } from "react";

import { calls, request } from "../../api/client";
import type { ServerTool, ToolServer } from "../../api/types";
import { Banner, Button, Card, Empty, tell, tellProblem, useFetched } from "../../parts";
import { Awaited, NeedsScope, Section, useMay } from "./section";
import css from "./settings.module.css";

/** Servers whose tools agents may call, and what a person has seen of them. */
export function ToolServersSection() {
  const mayChange = useMay("admin");
  const found = useFetched(calls.listToolServers());
  return (
    <Section
      title="Tool servers"
      lead="Programs and services of others (MCP) whose tools agents may call in runs that name them. No word of theirs reaches an agent before you have seen it here."
    >
      {!mayChange && <NeedsScope scope="admin" />}
      {mayChange && <AddServer onAdded={found.refresh} />}
      <Awaited found={found}>
        {({ servers, proposed }) => (
          <>
            {servers.length === 0 && (
              <Card title="Servers">
                <Empty title="None yet">
                  <p>
                    Add one here, or in a terminal: <code>cellwright tools add NAME --package PACKAGE -- COMMAND</code>, which also takes
                    secrets and folders.
                  </p>
                </Empty>
              </Card>
            )}
            {servers.map((server) => (
              <ServerCard key={server.name} server={server} mayChange={mayChange} onChanged={found.refresh} />
            ))}
            {proposed.map((server) => (
              <Banner key={server.name} tone="info">
                This folder proposes <b>{server.name}</b>: <code>{server.place}</code>. In a terminal{" "}
                <code>cellwright tools add {server.name} --proposed</code> shows what would run, and asks you.
              </Banner>
            ))}
          </>
        )}
      </Awaited>
    </Section>
  );
}

const SAYS = { allow: "runs without asking", ask: "asks you", deny: "is refused" } as const;

function ServerCard({ server, mayChange, onChanged }: { server: ToolServer; mayChange: boolean; onChanged: () => void }) {
  const [looked, setLooked] = useState<ToolServer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const now = looked ?? server;
  const waiting = now.tools.filter((tool) => tool.standing !== "allowed");
  const act = async (work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const look = () => act(async () => setLooked(await request(calls.lookAtToolServer(server.name))));
  const allow = () =>
    act(async () => {
      await request(calls.allowServerTools(server.name, { fingerprint: now.fingerprint }));
      tell(`Agents may know of what ${server.name} says now.`);
      setLooked(null);
      onChanged();
    });
  const forget = () =>
    act(async () => {
      await request(calls.removeToolServer(server.name));
      tell(`${server.name} is removed.`);
      onChanged();
    });
  return (
    <Card title={server.name}>
      <p className={css.faint}>
        <code>{server.place}</code> · {now.files === "read" ? "sees the project" : "sees no files"} ·{" "}
        {now.url !== "" ? "over HTTP" : now.hosts.length > 0 ? `reaches ${now.hosts.join(", ")}` : "no network"}
        {now.protocol !== "" && ` · MCP ${now.protocol}`}
      </p>
      {now.missing_secrets.length > 0 && <Banner tone="warn">It lacks {now.missing_secrets.join(", ")}.</Banner>}
      {now.problem != null && (
        <Banner tone="warn">
          {now.problem.message} {now.problem.hint}
        </Banner>
      )}
      {waiting.length > 0 && (
        <Banner tone="info">What follows is said by the server {server.name}, not by Cellwright. Agents would read it.</Banner>
      )}
      <ul className={css.rows}>
        {now.tools.map((tool) => (
          <ToolRow key={tool.name} tool={tool} />
        ))}
      </ul>
      <span className={css.rowActions}>
        <Button size="small" disabled={isBusy} onClick={() => void look()}>
          Ask what it says now
        </Button>
        {mayChange && waiting.length > 0 && (
          <Button size="small" look="primary" disabled={isBusy} onClick={() => void allow()}>
            Allow what is shown
          </Button>
        )}
        {mayChange && (
          <Button size="small" look="danger" disabled={isBusy} onClick={() => void forget()} aria-label={`Remove ${server.name}`}>
            Remove
          </Button>
        )}
      </span>
    </Card>
  );
}

function ToolRow({ tool }: { tool: ServerTool }) {
  return (
    <li>
      <details className={css.fold} open={tool.standing !== "allowed"}>
        <summary>
          <b>{tool.name}</b>
          <span className={css.faint}>
            {tool.standing} · a call {SAYS[tool.says]}
          </span>
        </summary>
        {tool.diff !== "" && <pre className={css.foldBody}>{tool.diff}</pre>}
      </details>
    </li>
  );
}

function AddServer({ onAdded }: { onAdded: () => void }) {
  const [name, setName] = useState("");
  const [what, setWhat] = useState("");
  const [packages, setPackages] = useState("");
  const [isBusy, setBusy] = useState(false);
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");
  const add = async () => {
    setBusy(true);
    try {
      const isAddress = /^https?:\/\//.test(what.trim());
      const body = isAddress ? { url: what.trim() } : { command: words(what), packages: words(packages) };
      await request(calls.putToolServer(name.trim(), body));
      tell(`${name.trim()} is added. Look at what its tools say.`);
      onAdded();
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Add a server">
      <form
        className={css.rowActions}
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <label className={css.field}>
          Name
          <input type="text" placeholder="time" required value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label className={css.field}>
          Command or address
          <input type="text" placeholder="mcp-server-time, or https://…" required value={what} onChange={(event) => setWhat(event.target.value)} />
        </label>
        <label className={css.field}>
          Python packages
          <input type="text" placeholder="mcp-server-time" value={packages} onChange={(event) => setPackages(event.target.value)} />
        </label>
        <Button type="submit" size="small" look="primary" disabled={isBusy}>
          Add and try
        </Button>
      </form>
    </Card>
  );
}
