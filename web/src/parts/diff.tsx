import { memo } from "react";

import type { DiffRow } from "./diff-lines";
import css from "./code.module.css";

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
const SPOKEN = { same: "", added: "added: ", removed: "removed: " } as const;

/** Lines that were kept, removed and added. */
export const Diff = memo(function Diff({ rows, most = 600 }: { rows: readonly DiffRow[]; most?: number }) {
  return (
    <div className={css.diff} tabIndex={0} role="group" aria-label="Changed lines">
      <div className={css.diffTable}>
        {rows.slice(0, most).map((row, at) =>
          row.kind === "fold" ? (
            <div key={at} className={css.fold}>
              {row.lines} unchanged {row.lines === 1 ? "line" : "lines"}
            </div>
          ) : (
            <div key={at} className={`${css.row} ${row.kind === "same" ? "" : css[row.kind]}`}>
              <span className={css.gutter} aria-hidden="true">
                {row.after ?? row.before}
              </span>
              <span className={css.sign} aria-hidden="true">
                {SIGNS[row.kind]}
              </span>
              <span className={css.text}>
                <span className="visually-hidden">{SPOKEN[row.kind]}</span>
                {row.parts.map((part, index) =>
                  part.isStrong ? (
                    <span key={index} className={css.strong}>
                      {part.text}
                    </span>
                  ) : (
                    part.text
                  ),
                )}
              </span>
            </div>
          ),
        )}
        {rows.length > most && <div className={css.fold}>{rows.length - most} more lines</div>}
      </div>
    </div>
  );
});
