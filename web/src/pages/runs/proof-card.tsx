import type { RunDetail } from "../../api/types";
import { Card, isOver } from "../../parts";
import { fileName } from "./run-row";
import css from "./detail.module.css";

/** Whether the notebook was shown to give the same again, and what that means. */
export function ProofCard({ detail }: { detail: RunDetail }) {
  const proof = detail.proof ?? null;
  const tone = proof === null ? "none" : proof.is_valid ? "good" : "changed";
  return (
    <Card title="Proof of reproducibility">
      <div className={css.proof}>
        <p className={css.verdict} data-tone={tone}>
          <span className={css.seal} aria-hidden="true">
            {tone === "good" ? "✓" : tone === "changed" ? "!" : "–"}
          </span>
          {tone === "good" ? "Proven, and the code is the same" : tone === "changed" ? "Proven once; no longer holds" : unproven(detail)}
        </p>
        {proof !== null && proof.says !== "" && <p>{proof.says}</p>}
        <details className={css.how}>
          <summary>What this proves</summary>
          <ol>
            <li>The notebook ran twice from top to bottom, each time from scratch, in a cage of its own.</li>
            <li>Every cell gave the same output both times, and every check of the plan held.</li>
            <li>Hashes of code, data, packages and outputs were signed with this machine’s key.</li>
          </ol>
          <p>It does not prove that the conclusions are right: read the caveats, too.</p>
          <p>
            To compare data and packages too, or on another machine:
            <code className={css.command}>cellwright notebook proof {fileName(detail.notebook) || "NOTEBOOK"}</code>
          </p>
        </details>
      </div>
    </Card>
  );
}

function unproven(detail: RunDetail): string {
  if (!isOver(detail)) return "Comes at the end of the run";
  return detail.status === "done" ? "No proof was kept" : "Not proven";
}
