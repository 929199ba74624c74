/** Python, coloured a little. Only text goes in, only text and spans come out. */

import { type ReactNode, memo } from "react";

import css from "./code.module.css";

type Look = "keyword" | "string" | "comment" | "number" | "name" | "plain";

const TOKENS =
  /(#[^\n]*)|((?:\b[rbfuRBFU]{1,2})?(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|\b(and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|match|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b|\b(\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\b|((?<=\b(?:def|class)\s+)\w+)/g;
const LOOKS: readonly Look[] = ["comment", "string", "keyword", "number", "name"];
/** Longer code is shown plainly. */
const LONGEST = 60_000;

export interface Piece {
  text: string;
  look: Look;
}

/** Lines of pieces. */
export function pythonLines(code: string): Piece[][] {
  const lines: Piece[][] = [[]];
  const push = (text: string, look: Look) => {
    const [first = "", ...rest] = text.split("\n");
    if (first !== "") lines.at(-1)?.push({ text: first, look });
    for (const line of rest) lines.push(line === "" ? [] : [{ text: line, look }]);
  };
  if (code.length > LONGEST) {
    push(code, "plain");
    return lines;
  }
  let at = 0;
  for (const found of code.matchAll(TOKENS)) {
    push(code.slice(at, found.index), "plain");
    push(found[0], LOOKS[found.slice(1).findIndex((group) => group !== undefined)] ?? "plain");
    at = found.index + found[0].length;
  }
  push(code.slice(at), "plain");
  return lines;
}

export function Pieces({ line }: { line: readonly Piece[] }): ReactNode {
  return line.map((piece, at) =>
    piece.look === "plain" ? (
      piece.text
    ) : (
      <span key={at} className={css[piece.look]}>
        {piece.text}
      </span>
    ),
  );
}

export interface CodeProps {
  code: string;
  /** Shows no more than this many lines; the rest is counted. */
  most?: number;
}

export const Python = memo(function Python({ code, most = 400 }: CodeProps) {
  const lines = pythonLines(code);
  return (
    <pre className={css.code} tabIndex={0}>
      <code>
        {lines.slice(0, most).map((line, at) => (
          <span key={at} className={css.line}>
            <Pieces line={line} />
            {"\n"}
          </span>
        ))}
      </code>
      {lines.length > most && <span className={css.more}>… {lines.length - most} more lines</span>}
    </pre>
  );
});
