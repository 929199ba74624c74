import { useState } from "react";

import { calls, download } from "../../api/client";
import type { Artifact } from "../../api/types";
import { Button, Card, bytes, tellProblem } from "../../parts";
import css from "./detail.module.css";

const KINDS: Record<Artifact["kind"], string> = { notebook: "The notebook", report: "Report", proof: "Signed proof" };

export interface FilesCardProps {
  run: string;
  artifacts: Artifact[] | null;
  isOver: boolean;
  onReport: () => void;
}

/** What the run left behind. */
export function FilesCard({ run, artifacts, isOver, onReport }: FilesCardProps) {
  return (
    <Card title="Files">
      {artifacts === null && <p className={css.faint}>Looking…</p>}
      {artifacts?.length === 0 && <p className={css.faint}>{isOver ? "This run handed over no files." : "They come when the run delivers."}</p>}
      {artifacts !== null && artifacts.length > 0 && (
        <ul className={css.files}>
          {artifacts.map((artifact) => (
            <File key={artifact.name} run={run} artifact={artifact} onReport={onReport} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function File({ run, artifact, onReport }: { run: string; artifact: Artifact; onReport: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const take = () => {
    setBusy(true);
    download(calls.readArtifact(run, artifact.name), artifact.name)
      .catch(tellProblem)
      .finally(() => setBusy(false));
  };
  return (
    <li className={css.file}>
      <span className={css.fileName}>
        <b>
          {KINDS[artifact.kind]} <small>{bytes(artifact.bytes)}</small>
        </b>
        <span title={artifact.name}>{artifact.name}</span>
      </span>
      {artifact.kind === "report" && (
        <Button size="small" look="quiet" onClick={onReport}>
          Read
        </Button>
      )}
      <Button size="small" isBusy={isBusy} onClick={take} aria-label={`Download ${artifact.name}`} title="Download">
        ↓
      </Button>
    </li>
  );
}
