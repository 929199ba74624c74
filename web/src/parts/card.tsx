import { type ReactNode, useId } from "react";

import css from "./parts.module.css";

export interface CardProps {
  title?: ReactNode;
  /** At the right of the title. */
  actions?: ReactNode;
  /** Without room around the content, e.g. for a table. */
  isFlush?: boolean;
  className?: string;
  children: ReactNode;
}

export function Card({ title, actions, isFlush = false, className = "", children }: CardProps) {
  const id = useId();
  return (
    <section className={`${css.card} ${className}`} aria-labelledby={title === undefined ? undefined : id}>
      {title !== undefined && (
        <header className={css.cardHead}>
          <h2 id={id}>{title}</h2>
          {actions}
        </header>
      )}
      <div className={isFlush ? "" : css.cardBody}>{children}</div>
    </section>
  );
}
