import { useRef } from "react";
import { Link, useLocation } from "wouter";

import type { Connections, DataConnection } from "../../api/types";
import { Banner, ButtonLink, Empty, bytes, dateTime, thousands, useKeys } from "../../parts";
import { usePageTitle } from "../runs/page-title";
import { kindWord, secretWords, sentWord, userOf } from "./kind-words";
import { ADDING, connectionPlace } from "./places";
import css from "./connections.module.css";

const ADD = `/connections/${ADDING}`;

export function ConnectionList({ connections }: { connections: Connections }) {
  const [, go] = useLocation();
  const list = useRef<HTMLUListElement>(null);
  usePageTitle("Connections");
  const move = (by: number) => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("a") ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
  };
  useKeys("Connections", [
    { keys: "a", does: "Add a connection", act: () => go(ADD) },
    { keys: "j", does: "Next connection", act: () => move(1) },
    { keys: "k", does: "Connection before", act: () => move(-1) },
  ]);
  const all = connections.connections;
  return (
    <>
      <header className={css.head}>
        <h1>Connections</h1>
        {all.length > 0 && <ButtonLink href={ADD}>Add</ButtonLink>}
      </header>
      {connections.problem !== "" && <Banner tone="warn">Nobody can say now what was sent: {connections.problem}</Banner>}
      {all.length === 0 ? (
        <Empty title="No connections yet">
          <p>
            A connection is a database, a bucket, a file server or an API that agents and notebooks may read, under a name
            you give it. Its secret stays with a process of its own: no agent, notebook or log sees it.
          </p>
          <p>
            <ButtonLink href={ADD}>Add</ButtonLink>
          </p>
        </Empty>
      ) : (
        <div className={css.box}>
          <div className={css.columns} aria-hidden="true">
            <span>Name</span>
            <span>Leads to</span>
            <span>User and secret</span>
            <span>Lately</span>
            <span>Last</span>
          </div>
          <ul ref={list} aria-label="Connections">
            {all.map((connection) => (
              <li key={connection.name}>
                <Row connection={connection} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function Row({ connection }: { connection: DataConnection }) {
  return (
    <Link href={connectionPlace(connection.name)} className={css.row}>
      <span className={css.cell}>
        <b>{connection.name}</b>
        <span className={css.faint}>
          {kindWord(connection.kind)}
          {connection.is_untried && <span className={css.untried}>never tried against the service</span>}
        </span>
      </span>
      <span className={css.place}>{connection.leads_to}</span>
      <span className={css.cell}>
        <span>
          <span className="visually-hidden">User: </span>
          {userOf(connection) || "–"}
        </span>
        <span className={css.faint}>{secretWords(connection)}</span>
      </span>
      <span className={css.cell}>
        <span>{countWords(connection.statements, sentWord(connection, 1).toLowerCase())}</span>
        <span className={css.faint}>
          {connection.ways.includes("sql") ? countWords(connection.rows_read, "row") : bytes(connection.bytes_read)} read
          {connection.price !== "" && ` · ${connection.price}`}
        </span>
      </span>
      <span className={css.faint}>{connection.last_at === "" ? "never" : dateTime(Date.parse(connection.last_at))}</span>
    </Link>
  );
}

function countWords(count: number, what: string): string {
  return `${thousands(count)} ${what}${count === 1 ? "" : "s"}`;
}
