import { useState } from "react";

import { calls, request } from "../../api/client";
import type { ServerTool, ToolServer } from "../../api/types";
import { Banner, Button, Card, Empty, tell, tellProblem, useFetched } from "../../parts";
import { AddServer } from "./add-server";
import { Awaited, NeedsScope, Section, useMay } from "./section";
import css from "./settings.module.css";

/** Servers whose tools agents may call, and what a person has seen of them. */
export function ToolServersSection() {
  const mayChange = useMay("admin");
  const found = useFetched(calls.listToolServers());
  const [added, setAdded] = useState<{ server: ToolServer; number: number } | null>(null);
  const onAdded = (server: ToolServer) => {
    setAdded({ server, number: (added?.number ?? 0) + 1 });
    found.refresh();
  };
  return (
    <Section
      title="Tool servers"
      lead="Programs and services of others (MCP) whose tools agents may call in runs that name them. No word of theirs reaches an agent before you have seen it here."
    >
      {!mayChange && <NeedsScope scope="admin" />}
      {mayChange && <AddServer onAdded={onAdded} />}
      <Awaited found={found}>
        {({ servers, proposed }) => (
          <>
            {servers.length === 0 && (
              <Card title="Servers">
                <Empty title="None yet">
                  <p>
                    Add one here, or in a terminal: <code>cellwright tools add NAME --package PACKAGE -- COMMAND</code>.
                  </p>
                </Empty>
              </Card>
            )}
            {servers.map((server) => (
              <ServerCard
                // What was just added was asked at once: its card shows what it said.
                key={added?.server.name === server.name ? `${server.name} ${added.number}` : server.name}
                server={server}
                asked={added?.server.name === server.name ? added.server : null}
                mayChange={mayChange}
                onChanged={() => {
                  setAdded(null);
                  found.refresh();
                }}
              />
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

const SEES = { none: "sees no files", read: "sees the project", write: "sees the project, and writes in it" } as const;
const SAYS = { allow: "runs without asking", ask: "asks you", deny: "is refused" } as const;

interface ServerCardProps {
  server: ToolServer;
  /** What it said when it was asked already. */
  asked: ToolServer | null;
  mayChange: boolean;
  onChanged: () => void;
}

function ServerCard({ server, asked, mayChange, onChanged }: ServerCardProps) {
  const [looked, setLooked] = useState<ToolServer | null>(asked);
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
        <code>{server.place}</code> · {SEES[now.files]} ·{" "}
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
            {tool.says === "ask" && tool.may_change && ", each time"}
          </span>
        </summary>
        {tool.diff !== "" && <pre className={css.foldBody}>{tool.diff}</pre>}
      </details>
    </li>
  );
}
