import { useEffect, useMemo, useState } from "react";

import { calls, fetchFile } from "../api/client";
import { ProblemBanner } from "./banner";
import { Button } from "./button";
import { copyPicture, pictureIn } from "./report-picture";
import { Loading } from "./spinner";
import { tell, tellProblem } from "./toast";
import css from "./parts.module.css";

// The API's own policy for a report: a text that is handed in carries no headers, so it is said again in the text.
const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;

/** The report of a run, where it can neither run anything, nor load anything, nor reach this page. */
export function ReportFrame({ run, name }: { run: string; name: string }) {
  const [html, setHtml] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const over = new AbortController();
    setHtml(null);
    setError(null);
    fetchFile(calls.readArtifact(run, name, { inline: true }), over.signal)
      .then((file) => file.text())
      .then(setHtml)
      .catch((problem: unknown) => over.signal.aborted || setError(problem));
    return () => over.abort();
  }, [run, name]);
  if (error !== null) return <ProblemBanner error={error} />;
  if (html === null) return <Loading what="Reading the report…" />;
  return (
    <div className={css.reportBox}>
      <CopyPicture html={html} name={name} />
      <Frame key={html} title={`Report ${name}`} html={html} />
    </div>
  );
}

/** The report itself has no rights: what is to be pasted elsewhere is taken from its text. */
function CopyPicture({ html, name }: { html: string; name: string }) {
  const picture = useMemo(() => pictureIn(html), [html]);
  const [isBusy, setBusy] = useState(false);
  if (picture === null) return null;
  const file = `${name.replace(/\.report(-\d+)?\.html$/, "")}.png`;
  const copy = () => {
    setBusy(true);
    copyPicture(picture, file)
      .then((how) => tell(how === "copied" ? "The picture is on the clipboard." : `The picture is saved as ${file}.`))
      .catch(tellProblem)
      .finally(() => setBusy(false));
  };
  return (
    <div className={css.reportBar}>
      <Button size="small" isBusy={isBusy} onClick={copy}>
        Copy picture
      </Button>
    </div>
  );
}

/** An address could not carry the token, so the text itself is handed in; an empty sandbox gives it no rights at all. */
function Frame({ title, html }: { title: string; html: string }) {
  const [showing, setShowing] = useState(0);
  const [loads, setLoads] = useState(0);
  const onLoad = () => {
    if (loads < 1) return setLoads(1);
    // A link was pressed. The page's own policy lets the frame go nowhere; the report must not be lost for it.
    setLoads(0);
    setShowing(showing + 1);
    tell("Links of a report open only in the downloaded file.");
  };
  return (
    <iframe
      key={showing}
      className={css.report}
      title={title}
      sandbox=""
      referrerPolicy="no-referrer"
      srcDoc={POLICY + html}
      onLoad={onLoad}
    />
  );
}
