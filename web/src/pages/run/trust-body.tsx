import { useMemo } from "react";

import { trustBlocks } from "./trust-lines";
import css from "./questions.module.css";

/** Our words as text; the project's in boxes of their own, in which a long line wraps behind its bar. */
export function TrustBody({ lines, most }: { lines: readonly string[]; most: number }) {
  const blocks = useMemo(() => trustBlocks(lines.slice(0, most)), [lines, most]);
  return blocks.map((block, at) =>
    block.kind === "ours" ? (
      <p key={at} className={block.isHead ? css.title : css.ours}>
        {block.text}
      </p>
    ) : (
      <div key={at} className={css.theirs} role="group" aria-label="Written by the project">
        {block.lines.map((line, number) => (
          <div key={number} className={css[line.kind]}>
            {line.text}
          </div>
        ))}
      </div>
    ),
  );
}
