/** SQL with a line for each of its parts, coloured a little. Only blanks change, and none inside quotes or comments. Pure. */

import type { Piece } from "./python";

type Kind = "blank" | "comment" | "string" | "number" | "word" | "mark";

interface Token {
  kind: Kind;
  text: string;
  /** In capitals, if it is a word. */
  word: string;
}

const TOKENS =
  /(\s+)|(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)|\$(\w*)\$[\s\S]*?(?:\$\4\$|$))|(\d[\w.]*)|([\p{L}_][\p{L}\p{N}_$]*)|([\s\S])/gu;
/** Longer statements are shown as they are. */
const LONGEST = 60_000;
const STARTS = new Set(
  "SELECT FROM WHERE HAVING LIMIT OFFSET FETCH UNION EXCEPT INTERSECT VALUES SET RETURNING QUALIFY WINDOW WITH INSERT UPDATE DELETE MERGE USING WHEN".split(" "),
);
const JOINS = new Set("LEFT RIGHT FULL INNER CROSS NATURAL ASOF ANTI SEMI".split(" "));
const KEYWORDS = new Set(
  `ALL ALTER AND ANY AS ASC BETWEEN BY CASE CAST CONFLICT CREATE CURRENT DATE DEFAULT DESC DISTINCT DO DROP ELSE END ESCAPE EXISTS
  EXPLAIN FALSE FILTER FIRST FOLLOWING FOR GROUP IF ILIKE IN INDEX INTERVAL INTO IS JOIN KEY LAST LATERAL LIKE MATCHED NOT NOTHING NULL
  NULLS ON OR ORDER OUTER OVER PARTITION PRECEDING PRIMARY RANGE RECURSIVE ROW ROWS TABLE TEMPORARY THEN TIMESTAMP TO TRUE TRUNCATE
  UNBOUNDED UNIQUE VIEW ${[...STARTS, ...JOINS].join(" ")}`.split(/\s+/),
);

/** What stands between two parentheses, or around all of them. */
interface Level {
  isQuery: boolean;
  /** How many CASE are open. */
  cases: number;
  /** A BETWEEN waits for its AND. */
  isBetween: boolean;
  isMerge: boolean;
}

const level = (isQuery: boolean): Level => ({ isQuery, cases: 0, isBetween: false, isMerge: false });

export function sqlTokens(text: string): Token[] {
  return [...text.matchAll(TOKENS)].map(([found, blank, comment, string, , number, word]) => {
    const kind: Kind =
      blank !== undefined
        ? "blank"
        : comment !== undefined
          ? "comment"
          : string !== undefined
            ? "string"
            : number !== undefined
              ? "number"
              : word !== undefined
                ? "word"
                : "mark";
    return { kind, text: found, word: kind === "word" ? found.toUpperCase() : "" };
  });
}

/** Lines of pieces. */
export function sqlLines(text: string): Piece[][] {
  if (text.length > LONGEST) return text.split("\n").map((line) => [{ text: line, look: "plain" }]);
  const tokens = sqlTokens(text.trim());
  const lines = new Lines();
  const levels: Level[] = [level(true)];
  tokens.forEach((token, at) => {
    if (token.kind === "blank") return lines.gap();
    const before = nextTo(tokens, at, -1);
    const after = nextTo(tokens, at, 1);
    const here = levels.at(-1) ?? level(false);
    const depth = levels.filter((each) => each.isQuery).length - 1;
    if (token.text === ")" && levels.length > 1) {
      if (here.isQuery) lines.break(depth - 1);
      levels.pop();
    } else if (here.isQuery && token.kind === "word" && before !== null) {
      if (isStart(token, before, after, here)) lines.break(depth);
      else if (isCondition(token, here)) lines.break(depth + 1);
    }
    count(token, here);
    lines.add(token.text, lookOf(token));
    if (token.kind === "comment" && token.text.startsWith("--")) lines.break(depth);
    if (token.text === "(") {
      const isQuery = after !== null && (after.word === "SELECT" || after.word === "WITH");
      levels.push(level(isQuery));
      if (isQuery) lines.break(depth + 1);
    }
  });
  return lines.lines;
}

class Lines {
  readonly lines: Piece[][] = [[]];
  #hasGap = false;
  #indent: number | null = null;

  /** There was a blank, or more. */
  gap(): void {
    this.#hasGap = true;
  }

  /** What comes next begins a line. */
  break(depth: number): void {
    this.#indent = Math.max(0, depth) * 2;
  }

  add(text: string, look: Piece["look"]): void {
    if (this.#indent !== null) {
      if ((this.lines.at(-1) ?? []).length > 0) this.lines.push([]);
      if (this.#indent > 0) this.lines.at(-1)?.push({ text: " ".repeat(this.#indent), look: "plain" });
    } else if (this.#hasGap && (this.lines.at(-1) ?? []).length > 0) {
      this.lines.at(-1)?.push({ text: " ", look: "plain" });
    }
    this.#indent = null;
    this.#hasGap = false;
    // A text may have lines of its own: they stay where they are.
    const [first = "", ...rest] = text.split("\n");
    this.lines.at(-1)?.push({ text: first, look });
    for (const line of rest) this.lines.push([{ text: line, look }]);
  }
}

function nextTo(tokens: readonly Token[], at: number, step: 1 | -1): Token | null {
  for (let other = at + step; other >= 0 && other < tokens.length; other += step) {
    const token = tokens[other];
    if (token !== undefined && token.kind !== "blank") return token;
  }
  return null;
}

function isStart({ word }: Token, before: Token, after: Token | null, here: Level): boolean {
  if (before.text === ".") return false;
  if (word === "JOIN") return !JOINS.has(before.word) && before.word !== "OUTER";
  if (JOINS.has(word)) return after?.text !== "(" && !JOINS.has(before.word);
  if (word === "ORDER" || word === "GROUP") return after?.word === "BY";
  if (word === "ON") return after?.word === "CONFLICT";
  if (word === "WHEN") return here.isMerge && here.cases === 0;
  // `is distinct from`, `for update`, `do update set`, `with ties`.
  if (word === "FROM") return before.word !== "DISTINCT" && before.word !== "DELETE";
  if (word === "UPDATE" || word === "DELETE") return !["FOR", "DO", "ON", "THEN", "KEY"].includes(before.word);
  if (word === "INSERT") return before.word !== "THEN";
  if (word === "SELECT") return before.text !== "(";
  return STARTS.has(word);
}

function isCondition({ word }: Token, here: Level): boolean {
  return here.cases === 0 && (word === "OR" || (word === "AND" && !here.isBetween));
}

function count({ word }: Token, here: Level): void {
  if (word === "MERGE") here.isMerge = true;
  if (word === "CASE") here.cases += 1;
  if (word === "END" && here.cases > 0) here.cases -= 1;
  if (word === "BETWEEN") here.isBetween = true;
  else if (word === "AND") here.isBetween = false;
}

function lookOf(token: Token): Piece["look"] {
  if (token.kind === "word") return KEYWORDS.has(token.word) ? "keyword" : "plain";
  return token.kind === "comment" || token.kind === "string" || token.kind === "number" ? token.kind : "plain";
}
