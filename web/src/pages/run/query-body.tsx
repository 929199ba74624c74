import type { Question } from "../../api/types";
import { Banner, Sql, sqlLines } from "../../parts";
import css from "./questions.module.css";

export interface QueryBodyProps {
  query: NonNullable<Question["query"]>;
  most: number;
}

/** What would be sent to a database, and what it would touch. */
export function QueryBody({ query, most }: QueryBodyProps) {
  const left = sqlLines(query.statement).length - most;
  return (
    <>
      {query.touches !== "" && (
        <p className={css.touches}>
          <strong>{query.touches}</strong>
        </p>
      )}
      {query.statement !== "" && <Sql code={query.statement} most={most} />}
      {left > 0 && <Banner tone="bad">{left} more lines are not shown here: say no, or look at it in a terminal.</Banner>}
      {query.statement !== "" && (
        <details>
          <summary>The same, letter by letter</summary>
          <pre className={css.plain}>{query.statement}</pre>
        </details>
      )}
    </>
  );
}
