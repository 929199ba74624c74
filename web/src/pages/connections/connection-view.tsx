import { useState } from "react";
import { Link, useLocation } from "wouter";

import { calls, request } from "../../api/client";
import type { DataConnection } from "../../api/types";
import { Button, Dialog, StatementList, Tabs, bytes, dateTime, panelProps, tell, tellProblem, thousands, useFetched, useKeys } from "../../parts";
import { usePageTitle } from "../runs/page-title";
import { Awaited, useMay } from "../settings/section";
import { ApiView } from "./api-view";
import { FileBrowser } from "./file-browser";
import { kindWord, secretWords, sentWord, userOf } from "./kind-words";
import { type ContentView, connectionPlace, contentOf } from "./places";
import { SchemaBrowser } from "./schema-browser";
import { type Tried, TriedNote } from "./tried-note";
import css from "./connections.module.css";

export interface ConnectionViewProps {
  connection: DataConnection;
  view: ContentView | "statements";
  /** The table, folder or file that is looked at; "": none. */
  place: string;
  onChanged: () => void;
}

const TITLES: Record<ContentView, string> = { tables: "Tables", files: "Files", operations: "Operations" };

/** One connection: what is in it, and what was sent to it. */
export function ConnectionView({ connection, view, place, onChanged }: ConnectionViewProps) {
  const { name } = connection;
  const [, go] = useLocation();
  const [tried, setTried] = useState<Tried | null>(null);
  const [isTrying, setTrying] = useState(false);
  /** How often it was tried: what was read before is old. */
  const [times, setTimes] = useState(0);
  usePageTitle(place === "" ? name : `${place} · ${name}`);
  const content = contentOf(connection);
  const test = async () => {
    setTrying(true);
    try {
      setTried({ name, says: await request(calls.tryConnection(name)) });
      setTimes((before) => before + 1);
      onChanged();
    } catch (error) {
      setTried({ error });
    } finally {
      setTrying(false);
    }
  };
  useKeys("This connection", [
    { keys: "u", does: "Back to all connections", act: () => go("/connections") },
    { keys: "1", does: TITLES[content], act: () => go(connectionPlace(name)) },
    { keys: "2", does: sentWord(connection), act: () => go(connectionPlace(name, "statements")) },
    { keys: "c", does: "Change it", act: () => go(connectionPlace(name, "change")) },
  ]);
  return (
    <>
      <Link href="/connections" className={css.back}>
        ← All connections
      </Link>
      <Head connection={connection} isTrying={isTrying} onTest={() => void test()} onForgotten={onChanged} />
      <div aria-live="polite">{tried !== null && <TriedNote tried={tried} onDismiss={() => setTried(null)} />}</div>
      <Usage connection={connection} />
      <Tabs
        label="About this connection"
        tabs={[
          { id: content, title: TITLES[content] },
          { id: "statements", title: sentWord(connection) },
        ]}
        selected={view}
        onSelect={(id) => go(connectionPlace(name, id))}
        idBase="connection"
      />
      <div {...panelProps("connection", view)}>
        {view === "tables" && <SchemaBrowser key={times} name={name} table={place === "" ? null : place} />}
        {view === "files" && <FileBrowser key={times} connection={connection} place={place} />}
        {view === "operations" && <ApiView key={times} connection={connection} />}
        {view === "statements" && <Statements key={times} name={name} />}
      </div>
    </>
  );
}

interface HeadProps {
  connection: DataConnection;
  isTrying: boolean;
  onTest: () => void;
  onForgotten: () => void;
}

function Head({ connection, isTrying, onTest, onForgotten }: HeadProps) {
  const [, go] = useLocation();
  const [isAsked, setAsked] = useState(false);
  const mayTest = useMay("steer");
  const mayChange = useMay("admin");
  const forget = async () => {
    try {
      await request(calls.forgetConnection(connection.name));
      tell(`${connection.name} is forgotten.`, "The record of what was sent to it stays.");
      go("/connections");
      onForgotten();
    } catch (error) {
      setAsked(false);
      tellProblem(error);
    }
  };
  return (
    <header className={css.head}>
      <div className={css.titles}>
        <h1>{connection.name}</h1>
        <p className={css.meta}>
          <span>{kindWord(connection.kind)}</span>
          <span className={css.place}>{connection.leads_to}</span>
          {userOf(connection) !== "" && <span>as {userOf(connection)}</span>}
          <span>{secretWords(connection)}</span>
          {connection.is_untried && <span className={css.untried}>never tried against the service</span>}
        </p>
      </div>
      <div className={css.actions}>
        {mayTest && (
          <Button isBusy={isTrying} onClick={onTest}>
            Test
          </Button>
        )}
        {mayChange && (
          <>
            <Button onClick={() => go(connectionPlace(connection.name, "change"))}>Change</Button>
            <Button look="danger" onClick={() => setAsked(true)}>
              Forget
            </Button>
          </>
        )}
      </div>
      {isAsked && (
        <Dialog
          title={`Forget ${connection.name}?`}
          onClose={() => setAsked(false)}
          actions={
            <>
              <Button onClick={() => setAsked(false)}>Keep it</Button>
              <Button look="danger" onClick={() => void forget()}>
                Forget it
              </Button>
            </>
          }
        >
          <p>
            The connection and its secrets are taken away, and notebooks that name it cannot read it any more. Nothing
            changes where it leads, and the record of what was sent stays.
          </p>
        </Dialog>
      )}
    </header>
  );
}

function Usage({ connection }: { connection: DataConnection }) {
  const isDatabase = connection.ways.includes("sql");
  const facts: (readonly [string, string])[] = [
    [`${sentWord(connection)} lately`, thousands(connection.statements)],
    ["Rows read", isDatabase ? thousands(connection.rows_read) : ""],
    ["Read", isDatabase ? "" : bytes(connection.bytes_read)],
    ["Price", connection.price],
    ["Last", connection.last_at === "" ? "never" : dateTime(Date.parse(connection.last_at))],
    ["Changes as", connection.writer],
    ["Masked", connection.masked.join(", ")],
    ["Only for", connection.projects.join(", ")],
  ];
  return (
    <dl className={css.usage}>
      {facts
        .filter(([, value]) => value !== "")
        .map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

const MOST = 100;

function Statements({ name }: { name: string }) {
  const found = useFetched(calls.listStatements({ connection: name, most: MOST }));
  return (
    <Awaited found={found}>
      {({ statements }) => <StatementList statements={statements} none="Nothing was sent to it yet" />}
    </Awaited>
  );
}
