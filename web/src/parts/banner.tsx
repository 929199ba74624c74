import type { ReactNode } from "react";

import { problemOf } from "../api/client";
import css from "./parts.module.css";

export interface BannerProps {
  tone: "info" | "good" | "warn" | "bad";
  actions?: ReactNode;
  children: ReactNode;
}

export function Banner({ tone, actions, children }: BannerProps) {
  return (
    <div className={`${css.banner} ${css[tone]}`} role={tone === "bad" ? "alert" : undefined}>
      <div>{children}</div>
      {actions}
    </div>
  );
}

/** What went wrong and what to do, where the content would be. */
export function ProblemBanner({ error, actions }: { error: unknown; actions?: ReactNode }) {
  const { message, hint } = problemOf(error);
  return (
    <Banner tone="bad" actions={actions}>
      <strong>{message}</strong> {hint}
    </Banner>
  );
}
