import { Link } from "wouter";

import type { SentStatement } from "../api/types";
import { Empty } from "./empty";
import { Sql } from "./sql";
import { StatusDot } from "./status-dot";
import { bytes, dateTime, thousands } from "./words";
import css from "./statements.module.css";

/** How each outcome looks, and its word. */
const OUTCOMES: Record<string, readonly [string, string]> = {
  done: ["done", "done"],
  refused: ["refused", "refused"],
  failed: ["failed", "failed"],
  cancelled: ["stopped", "cancelled"],
  costly: ["waiting", "not sent: it would read much"],
  sending: ["running", "being sent"],
  unknown: ["failed", "sent, outcome unknown"],
};

export interface StatementListProps {
  statements: readonly SentStatement[];
  /** What it says if there is none. */
  none: string;
  /** They are of many connections. */
  hasConnections?: boolean;
}

/** What was sent to databases and what was refused: each a line, with all that is recorded inside. */
export function StatementList({ statements, none, hasConnections = false }: StatementListProps) {
  if (statements.length === 0) return <Empty title={none}>Every statement is recorded here: who sent it, what it read, and what came of it.</Empty>;
  return (
    <ul className={css.list} aria-label="Statements, the latest first">
      {statements.map((sent) => (
        <li key={sent.id}>
          <details className={css.fold}>
            <summary>
              <StatusDot status={outcomeOf(sent)[0]} word={outcomeOf(sent)[1]} />
              <code className={css.text}>{sent.statement.replace(/\s+/g, " ")}</code>
              <span className={css.meta}>
                {hasConnections && <b>{sent.connection}</b>}
                {sent.access === "write" && <b className={css.write}>change</b>}
                <span>{rowWords(sent)}</span>
                <span>{sent.person}</span>
                <span>{dateTime(Date.parse(sent.at))}</span>
              </span>
            </summary>
            <Sent sent={sent} />
          </details>
        </li>
      ))}
    </ul>
  );
}

function Sent({ sent }: { sent: SentStatement }) {
  const facts: (readonly [string, string])[] = [
    ["Why", sent.why],
    ["Tables", sent.tables.join(", ")],
    ["Columns", sent.columns.join(", ")],
    ["Took", sent.outcome === "done" ? `${sent.seconds.toFixed(2)} s${sent.bytes === null ? "" : `, ${bytes(sent.bytes)}`}` : ""],
    ["Price", sent.price],
    ["By", sent.person],
    ["Notebook", sent.notebook],
  ];
  return (
    <div className={css.inside}>
      <Sql code={sent.statement} />
      <dl className={css.facts}>
        {facts
          .filter(([, value]) => value !== "")
          .map(([title, value]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        {sent.run !== "" && (
          <div>
            <dt>Run</dt>
            <dd>
              <Link href={`/runs/${encodeURIComponent(sent.run)}/detail`}>{sent.run}</Link>
            </dd>
          </div>
        )}
      </dl>
    </div>
  );
}

function outcomeOf(sent: SentStatement): readonly [string, string] {
  return OUTCOMES[sent.outcome] ?? ["idle", sent.outcome];
}

function rowWords({ access, rows }: SentStatement): string {
  if (rows === null) return "";
  return `${thousands(rows)} ${rows === 1 ? "row" : "rows"}${access === "write" ? " changed" : ""}`;
}
