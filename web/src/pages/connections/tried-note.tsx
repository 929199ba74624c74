import { Link } from "wouter";

import { problemOf } from "../../api/client";
import type { TriedConnection } from "../../api/types";
import { Banner, Button } from "../../parts";
import { connectionPlace } from "./places";

/** What came of a test: an answer of the server, or why there is none. */
export type Tried = { name: string; says: TriedConnection } | { error: unknown };

/** Where it was asked for, in the server's words. */
export function TriedNote({ tried, isSaved = false, onDismiss }: { tried: Tried; isSaved?: boolean; onDismiss?: () => void }) {
  const dismiss = onDismiss && (
    <Button look="quiet" size="small" aria-label="Dismiss" onClick={onDismiss}>
      ✕
    </Button>
  );
  if ("error" in tried) {
    const { message, hint } = problemOf(tried.error);
    return (
      <Banner tone="bad" actions={dismiss}>
        <strong>{message}</strong> {hint} {isSaved && "Nothing was saved."}
      </Banner>
    );
  }
  const { name, says } = tried;
  if (!says.is_open)
    return (
      <Banner tone="bad" actions={dismiss}>
        <strong>{says.problem}</strong> {says.hint} {isSaved && "What you typed is saved; correct it and test again."}
      </Banner>
    );
  return (
    <Banner
      tone={says.notices.length > 0 ? "warn" : "good"}
      actions={isSaved ? <Link href={connectionPlace(name)}>{says.tables === null ? "Look into it" : "Look at its tables"}</Link> : dismiss}
    >
      <strong>It works.</strong> {says.server || "It answers"}
      {says.tables !== null && `, ${says.tables} ${says.tables === 1 ? "table" : "tables"}`}, in {says.seconds.toFixed(1)} s.
      {isSaved && " It is saved."}
      {says.notices.map((notice) => (
        <div key={notice}>{notice}</div>
      ))}
    </Banner>
  );
}
