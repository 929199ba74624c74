import { memo, useMemo } from "react";

import { type CodeProps, Pieces } from "./python";
import { sqlLines } from "./sql-lines";
import css from "./code.module.css";

/** A statement, a line for each of its parts. */
export const Sql = memo(function Sql({ code, most = 400 }: CodeProps) {
  const lines = useMemo(() => sqlLines(code), [code]);
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
