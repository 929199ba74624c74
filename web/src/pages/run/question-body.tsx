import { useMemo } from "react";

import type { Question } from "../../api/types";
import { Banner, Diff, type DiffRow, Python } from "../../parts";
import { QueryBody } from "./query-body";
import { isDispute, isEnvelope, isTrust } from "./question-choices";
import { TrustBody } from "./trust-body";
import css from "./questions.module.css";

/** More lines would freeze the page; that some are missing is then said loudly. */
const MOST_LINES = 4_000;

/** Everything the person must see before saying yes: the text as policy wrote it, coloured, no line left out. */
export function QuestionBody({ question }: { question: Question }) {
  const { title, body, why } = useMemo(() => split(question.what), [question.what]);
  if (isEnvelope(question)) return <EnvelopeBody lines={[title, ...body]} why={why} />;
  return (
    <div className={css.body} tabIndex={0} role="group" aria-label="What will happen">
      <p className={css.title}>{title}</p>
      {isTrust(question) ? (
        <TrustBody lines={body} most={MOST_LINES} />
      ) : isDispute(question) ? (
        <DisputeBody lines={body} />
      ) : question.query != null ? (
        <QueryBody query={question.query} most={MOST_LINES} />
      ) : (
        <Body title={title} lines={body} />
      )}
      {body.length > MOST_LINES && question.query == null && (
        <Banner tone="bad">
          {body.length - MOST_LINES} more lines are not shown here. See all:{" "}
          <code>cellwright inbox show {question.id}</code>
        </Banner>
      )}
      {why.map((line) => (
        <p key={line} className={css.why}>
          {line}
        </p>
      ))}
    </div>
  );
}

/** A whole plan's reach, grouped by what is touched. */
function EnvelopeBody({ lines, why }: { lines: readonly string[]; why: readonly string[] }) {
  return (
    <div className={css.body} tabIndex={0} role="group" aria-label="What it may touch">
      <div>
        {lines.map((line, at) => (
          <p key={at} className={line.startsWith("  ") ? css.reach : css.title}>
            {line}
          </p>
        ))}
      </div>
      {why.map((line) => (
        <p key={line} className={css.why}>
          {line}
        </p>
      ))}
    </div>
  );
}

/** What the test says, then its code and what would take its place; no line is left out, wherever the words stand. */
function DisputeBody({ lines }: { lines: readonly string[] }) {
  const shown = lines.slice(0, MOST_LINES);
  const at = shown.indexOf("Instead it would be:");
  const end = at === -1 ? shown.length : at;
  return (
    <>
      <p>{shown[0]}</p>
      <Python code={shown.slice(1, end).join("\n").trim()} most={MOST_LINES} />
      {at !== -1 && (
        <>
          <p>{shown[at]}</p>
          <Python
            code={shown
              .slice(at + 1)
              .join("\n")
              .trim()}
            most={MOST_LINES}
          />
        </>
      )}
    </>
  );
}

function Body({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  if (/^(Edit cells of|Write the file) /.test(title)) return <Diff rows={exactRows(lines)} most={MOST_LINES} />;
  if (title.startsWith("Run code ")) return <Python code={lines.join("\n")} most={MOST_LINES} />;
  return <pre className={css.plain}>{lines.slice(0, MOST_LINES).join("\n")}</pre>;
}

/** Every line, every character: what looks like a diff's head may be an agent's, so it is drawn otherwise, not left out. */
function exactRows(lines: readonly string[]): DiffRow[] {
  const isHead = (at: number) =>
    /^--- .*before$/.test(lines[at] ?? "") &&
    /^\+\+\+ .*after$/.test(lines[at + 1] ?? "") &&
    (lines[at + 2] ?? "").startsWith("@@ ");
  return lines.map((line, at) => {
    const isPlain = isHead(at) || isHead(at - 1);
    const kind = isPlain ? "same" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
    const text = kind === "same" ? line : line.slice(1);
    return { kind, parts: [{ text, isStrong: false }], before: null, after: null };
  });
}

const ENDINGS = [/^Secrets in it are masked\.$/, /^A yes for this run or always would cover: /, /^Asked because: /];

/** Policy ends with at most one line of each kind; the same words above that stay what they are. */
function split(what: string): { title: string; body: string[]; why: string[] } {
  const lines = what.split("\n");
  let end = lines.length;
  for (const ending of ENDINGS) if (end > 1 && ending.test(lines[end - 1] ?? "")) end -= 1;
  return { title: lines[0] ?? "", body: lines.slice(1, end), why: lines.slice(end) };
}
