import { Link } from "wouter";

import type { SentStatement } from "../api/types";
import { Empty } from "./empty";
import { amountWords, groupsOfSent, kindOfSent, sentLine } from "./sent-words";
import { Sql } from "./sql";
import { StatusDot } from "./status-dot";
import { bytes, dateTime } from "./words";
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

/** What was sent through connections and what was refused: each a line, with all that is recorded inside. */
export function StatementList({ statements, none, hasConnections = false }: StatementListProps) {
  if (statements.length === 0) return <Empty title={none}>Whatever is sent is recorded here: who sent it, what it read, and what came of it.</Empty>;
  return (
    <ul className={css.list} aria-label="Statements, the latest first">
      {groupsOfSent(statements).map(({ sent, count, bytes: size }) => (
        <li key={sent.id}>
          <details className={css.fold}>
            <summary>
              <StatusDot status={outcomeOf(sent)[0]} word={outcomeOf(sent)[1]} />
              <code className={css.text}>{count === 1 ? sentLine(sent) : sentLine({ statement: sent.statement.replace(/ \d+-\d*$/, "") })}</code>
              <span className={css.meta}>
                {hasConnections && <b>{sent.connection}</b>}
                {sent.access === "write" && <b className={css.write}>change</b>}
                <span>{count === 1 ? amountWords(sent) : `${count} ranges, ${bytes(size)}`}</span>
                <span>{sent.person}</span>
                <span>{dateTime(Date.parse(sent.at))}</span>
              </span>
            </summary>
            <Sent sent={sent} count={count} />
          </details>
        </li>
      ))}
    </ul>
  );
}

function Sent({ sent, count }: { sent: SentStatement; count: number }) {
  const facts: (readonly [string, string])[] = [
    ["Why", sent.why],
    ["Answered", sent.status === null ? "" : sent.status === 0 ? "nothing" : String(sent.status)],
    ["Sent", sent.sent_bytes === null || sent.sent_bytes === 0 ? "" : bytes(sent.sent_bytes)],
    ["Tables", sent.tables.join(", ")],
    ["Columns", sent.columns.join(", ")],
    ["Took", sent.outcome === "done" ? `${sent.seconds.toFixed(2)} s${sent.bytes === null ? "" : `, ${bytes(sent.bytes)}`}` : ""],
    ["Price", sent.price],
    ["By", sent.person],
    ["Notebook", sent.notebook],
  ];
  return (
    <div className={css.inside}>
      {kindOfSent(sent) === "sql" ? <Sql code={sent.statement} /> : <code className={css.whole}>{sent.statement}</code>}
      {count > 1 && <p className={css.more}>The latest of {count} ranges that were read of it one after the other.</p>}
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
