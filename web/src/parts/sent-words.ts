/** One line of the audit in a person's words: SQL, an HTTP request, or what was asked of files. Pure. */

import type { SentStatement } from "../api/types";
import { bytes, thousands } from "./words";

/** What was sent, told apart by how it is written. */
export type SentKind = "sql" | "exchange" | "files";

const EXCHANGE = /^(GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE) \/(?!\*)/;
const FILES = /^(LIST|STAT|READ) ?(.*)$/s;
const RANGE = / (\d+)-(\d*)$/;

export function kindOfSent({ statement }: Pick<SentStatement, "statement">): SentKind {
  return EXCHANGE.test(statement) ? "exchange" : FILES.test(statement) ? "files" : "sql";
}

/** The statement as a line: of files what was done with which. */
export function sentLine(sent: Pick<SentStatement, "statement">): string {
  const [, verb, rest = ""] = (kindOfSent(sent) === "files" && FILES.exec(sent.statement)) || [];
  switch (verb) {
    case "LIST":
      return `Listed ${rest || "the topmost folder"}`;
    case "STAT":
      return `Looked for ${rest || "the topmost folder"}`;
    case "READ":
      return `Read ${rest.replace(RANGE, "")}${rangeWords(rest)}`;
    default:
      return sent.statement.replace(/\s+/g, " ");
  }
}

function rangeWords(rest: string): string {
  const [, first = "0", last = ""] = RANGE.exec(rest) ?? [];
  if (last === "") return first === "0" ? "" : `, from byte ${Number(first).toLocaleString("en")} on`;
  return `, bytes ${Number(first).toLocaleString("en")} to ${Number(last).toLocaleString("en")}`;
}

/** How much it was about, in few words; "": nobody counted. */
export function amountWords(sent: Pick<SentStatement, "statement" | "access" | "rows" | "bytes" | "status">): string {
  if (sent.rows !== null) return `${thousands(sent.rows)} ${sent.rows === 1 ? "row" : "rows"}${sent.access === "write" ? " changed" : ""}`;
  const size = sent.bytes === null || kindOfSent(sent) === "sql" ? "" : bytes(sent.bytes);
  return [sent.status ? `answered ${sent.status}` : "", size].filter((each) => each !== "").join(", ");
}

/** Ranges of one file, read one after the other by the same person or run, are one line: what was read of it in all. */
export interface SentGroup {
  /** The latest. */
  sent: SentStatement;
  /** How many lines of the audit it stands for. */
  count: number;
  bytes: number;
}

export function groupsOfSent(statements: readonly SentStatement[]): SentGroup[] {
  const groups: SentGroup[] = [];
  for (const sent of statements) {
    const last = groups.at(-1);
    if (last !== undefined && isSameRead(last.sent, sent)) {
      last.count += 1;
      last.bytes += sent.bytes ?? 0;
    } else groups.push({ sent, count: 1, bytes: sent.bytes ?? 0 });
  }
  return groups;
}

function isSameRead(one: SentStatement, other: SentStatement): boolean {
  const isRead = (sent: SentStatement) => sent.statement.startsWith("READ ") && sent.outcome === "done";
  const file = ({ connection, person, run, notebook, statement }: SentStatement) =>
    JSON.stringify([connection, person, run, notebook, statement.replace(RANGE, "")]);
  return isRead(one) && isRead(other) && file(one) === file(other);
}
