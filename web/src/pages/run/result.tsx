import { download } from "../../api/client";
import type { Artifact } from "../../api/types";
import { Banner, Button, Delivered, Empty, bytes, tellProblem } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { STAGE_WORDS, type Standing } from "./standing";
import css from "./result.module.css";

export interface ResultProps {
  followed: FollowedRun;
  standing: Standing;
  artifacts: readonly Artifact[];
  isAnswerBeside: boolean;
}

/** What came of it: the answer first, then how far to trust it. */
export function Result({ followed, standing, artifacts, isAnswerBeside }: ResultProps) {
  const { run, story, detail } = followed;
  // Of a long run, the API tells it before the stream comes to it.
  const delivery = story.delivery ?? detail?.delivery ?? null;
  const path = `/runs/${encodeURIComponent(run)}/artifacts`;
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
      {delivery.title !== "" && delivery.title !== story.goal?.words && <h2>{delivery.title}</h2>}
      <Delivered delivery={delivery} isAnswerBeside={isAnswerBeside}>
        {detail?.proof != null && (
          <Banner tone={detail.proof.is_valid ? "good" : "bad"}>
            <strong>{detail.proof.is_valid ? "Proven." : "The proof does not hold."}</strong> {detail.proof.says}
          </Banner>
        )}
      </Delivered>
      <section>
        <h2>Files</h2>
        <ul className={css.files}>
          {artifacts.map((file) => (
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
