import type { ReactNode } from "react";

import css from "./parts.module.css";

/** There is nothing here: why, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <p className={css.emptyTitle}>{title}</p>
      {typeof children === "string" ? <p>{children}</p> : children}
    </div>
  );
}
