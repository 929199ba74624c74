import { useEffect, useState } from "react";

import { request } from "../../api/client";
import type { Artifact } from "../../api/types";
import { Loading, ProblemBanner } from "../../parts";
import css from "./detail.module.css";

/** The report, where it can neither run anything nor reach this page. */
export function ReportFrame({ run, report }: { run: string; report: Artifact }) {
  const [html, setHtml] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const over = new AbortController();
    const path = `/runs/${run}/artifacts/${encodeURIComponent(report.name)}?inline=1`;
    request("GET", path, { headers: { Accept: "text/html" }, signal: over.signal })
      .then((response) => response.text())
      .then(setHtml, (problem: unknown) => over.signal.aborted || setError(problem));
    return () => over.abort();
  }, [run, report.name]);
  if (error !== null) return <ProblemBanner error={error} />;
  if (html === null) return <Loading what="Reading the report…" />;
  // An address could not carry the token, so the text itself is handed in; an empty sandbox gives it no rights at all.
  return <iframe className={css.report} title={`Report ${report.name}`} sandbox="" referrerPolicy="no-referrer" srcDoc={html} />;
}
