import { useMemo } from "react";

import { calls } from "../../api/client";
import type { Branch } from "../../api/types";
import { Button, Empty, Loading, ProblemBanner, StatusDot, clock } from "../../parts";
import { BranchVariables } from "./branch-variables";
import { type Deciding, useDeciding } from "./deciding";
import { type FollowedRun, LARGE_SOON_MS, useKeptFresh } from "./follow-run";
import { fateOf, groupsOf, wayWords } from "./branch-groups";
import { agentName } from "./story";
import css from "./branches.module.css";

/** What agents tried before they changed the notebook: one card each, those tried side by side next to each other. */
export function Branches({ followed }: { followed: FollowedRun }) {
  const { run, story } = followed;
  const mark = `${story.branches}|${story.openQuestions.join()}`;
  const { value, error, refresh } = useKeptFresh(calls.listBranches(run), mark, LARGE_SOON_MS);
  const deciding = useDeciding(followed, refresh);
  const groups = useMemo(() => groupsOf(value?.branches ?? []), [value]);
  if (value === null) return error === null ? <Loading what="Reading the branches…" /> : <ProblemBanner error={error} />;
  if (groups.length === 0)
    return <Empty title="Nothing tried yet">What an agent tries before it changes the notebook appears here.</Empty>;
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label="What was tried in branches">
      {groups.map(({ key, members }) => (
        <div key={key} className={css.group} data-many={members.length > 1}>
          {members.length > 1 && <p className={css.beside}>{members.length} tried side by side</p>}
          {members.map((branch) => (
            <BranchCard key={branch.branch} branch={branch} by={agentName(story, branch.agent)} deciding={deciding} />
          ))}
        </div>
      ))}
    </div>
  );
}

function BranchCard({ branch, by, deciding }: { branch: Branch; by: string; deciding: Deciding }) {
  const name = branch.purpose || branch.branch;
  // Two branches may be for the same purpose.
  const label = `${name} (${branch.branch})`;
  return (
    <section
      className={css.card}
      data-kept={branch.is_kept}
      data-status={branch.status}
      data-state={branch.state}
      aria-label={`Branch ${label}`}
    >
      <header className={css.head}>
        <h2>{name}</h2>
        <StatusDot status={branch.status === "passed" ? "done" : "failed"} word={branch.status} />
        <span className={css.fate}>{fateOf(branch)}</span>
      </header>
      {branch.state === "waits" && (
        <div className={css.decide}>
          <Button
            look="primary"
            size="small"
            aria-label={`Accept ${label}`}
            isBusy={deciding.busy === `accept ${branch.branch}`}
            disabled={deciding.busy !== null}
            onClick={() => void deciding.decide(branch, "accept")}
          >
            Accept
          </Button>
          <Button
            look="danger"
            size="small"
            aria-label={`Drop ${label}`}
            isBusy={deciding.busy === `drop ${branch.branch}`}
            disabled={deciding.busy !== null}
            onClick={() => void deciding.decide(branch, "drop")}
          >
            Drop
          </Button>
        </div>
      )}
      <p className={css.facts}>
        by {by}, in {wayWords(branch.way)}, <span className="numeric">{Math.round(branch.ms).toLocaleString("en")} ms</span>,{" "}
        <time className="numeric">{clock(branch.at_ms)}</time>
      </p>
      {branch.reasons.length > 0 && <p className={css.facts}>No fork: {branch.reasons.join("; ")}.</p>}
      {branch.note !== "" && <p className={css.note}>{branch.note}</p>}
      <Ran branch={branch} />
      {branch.variables.length > 0 && <BranchVariables label={`What differs in ${label}`} variables={branch.variables} />}
      {branch.files.length > 0 && (
        <>
          <h3>Files</h3>
          <ul className={css.files}>
            {branch.files.map((file) => (
              <li key={file}>{file}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const MARKS: Record<string, string> = { ok: "✓", failed: "✗", lost: "✗", interrupted: "✗" };

function Ran({ branch }: { branch: Branch }) {
  return (
    <ul className={css.ran}>
      {branch.cells.map((cell) => (
        <li key={`cell ${cell.cell}`} data-failed={cell.error !== "" || MARKS[cell.status] === "✗"}>
          <span aria-hidden="true">{MARKS[cell.status] ?? "·"}</span> <code>{cell.name || cell.cell}</code>{" "}
          <span className={css.word}>{cell.status}</span>
          {cell.error !== "" && <pre className={css.error}>{cell.error}</pre>}
        </li>
      ))}
      {branch.checks.map((check, at) => (
        <li key={`check ${at}`} data-failed={!check.has_passed}>
          <span aria-hidden="true">{check.has_passed ? "✓" : "✗"}</span> check <code>{check.check}</code>{" "}
          <span className={css.word}>{check.has_passed ? "holds" : "does not hold"}</span>
          {check.detail !== "" && <pre className={css.error}>{check.detail}</pre>}
        </li>
      ))}
    </ul>
  );
}
