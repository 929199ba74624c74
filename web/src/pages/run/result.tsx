import { download } from "../../api/client";
import type { Artifact } from "../../api/types";
import { Banner, Button, Empty, Markdown, bytes, tellProblem, useFetched } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { STAGE_WORDS, type Standing } from "./standing";
import css from "./result.module.css";

/** What came of it: the answer first, then how far to trust it. */
export function Result({ followed, standing }: { followed: FollowedRun; standing: Standing }) {
  const { run, story, detail } = followed;
  const { delivery } = story;
  const path = `/runs/${encodeURIComponent(run)}/artifacts`;
  // The last stage is told before the files are there; the end is told after.
  const artifacts = useFetched<{ artifacts: Artifact[] }>(story.ended === "" ? null : path);
  if (delivery === null)
    return (
      <Empty title={standing.isOver ? "It ended without a result" : "Not there yet"}>
        {standing.isOver
          ? "What went wrong stands at the end of the activity. Resume the run, or start another."
          : `${STAGE_WORDS[story.stage]}.`}
      </Empty>
    );
  return (
    <div className={css.result}>
      {delivery.status !== "done" && <Banner tone="warn">{delivery.why || `It is ${delivery.status}.`}</Banner>}
      {delivery.title !== "" && <h2>{delivery.title}</h2>}
      {delivery.answer !== "" && (
        <div className={css.answer}>
          <Markdown text={delivery.answer} />
        </div>
      )}
      {delivery.summary !== "" && delivery.summary !== delivery.answer && <Markdown text={delivery.summary} />}
      {detail?.proof != null && (
        <Banner tone={detail.proof.is_valid ? "good" : "bad"}>
          <strong>{detail.proof.is_valid ? "Proven." : "The proof does not hold."}</strong> {detail.proof.says}
        </Banner>
      )}
      {delivery.checks.length > 0 && (
        <section>
          <h3>Checks</h3>
          <ul className={css.checks}>
            {delivery.checks.map((check) => (
              <li key={check.name} data-passed={check.has_passed}>
                <span aria-hidden="true">{check.has_passed ? "✓" : "✗"}</span>
                <span>
                  <span className="visually-hidden">{check.has_passed ? "held: " : "did not hold: "}</span>
                  {check.says || check.name}
                  {check.detail !== "" && <span className={css.soft}> {check.detail}</span>}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Lines title="Left wrong" lines={delivery.problems} />
      <Lines title="Caveats" lines={delivery.caveats} />
      <Lines title="Assumptions" lines={delivery.assumptions} />
      <section>
        <h3>Files</h3>
        <ul className={css.files}>
          {(artifacts.value?.artifacts ?? []).map((file) => (
            <li key={file.name}>
              <Button
                size="small"
                onClick={() => download(`${path}/${encodeURIComponent(file.name)}`, file.name).catch(tellProblem)}
              >
                ↓ {file.name}
              </Button>
              <span className={css.soft}>
                {file.kind} · {bytes(file.bytes)}
              </span>
            </li>
          ))}
        </ul>
        <p>
          <a href={`#/runs/${encodeURIComponent(run)}/detail`}>Timeline, report and proof of this run</a>
        </p>
      </section>
    </div>
  );
}

function Lines({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul className={css.lines}>
        {lines.map((line) => (
          <li key={line}>
            <Markdown text={line} />
          </li>
        ))}
      </ul>
    </section>
  );
}
