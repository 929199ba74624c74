import { useState } from "react";

import { calls, download } from "../../api/client";
import type { Artifact, Goal } from "../../api/types";
import { Banner, Button, Delivered, Empty, RunStatements, bytes, tellProblem } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { goOn } from "./go-on";
import { Research } from "./research";
import { Review } from "./review";
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
  if (delivery === null)
    return (
      <div className={css.result}>
        <Empty title={standing.isOver ? "It ended without a result" : "Not there yet"}>
          {standing.isOver
            ? "What went wrong stands at the end of the activity. Resume the run, or start another."
            : `${STAGE_WORDS[story.stage]}.`}
        </Empty>
        <Research followed={followed} />
        <Review followed={followed} isOver={standing.isOver} />
        <RunStatements run={run} named={story.goal?.connections ?? []} />
      </div>
    );
  return (
    <div className={css.result}>
      <Delivered
        delivery={delivery}
        title={delivery.title === story.goal?.words ? "" : delivery.title}
        isAnswerBeside={isAnswerBeside}
      >
        {detail?.proof != null && (
          <Banner tone={detail.proof.is_valid ? "good" : "bad"}>
            <strong>{detail.proof.is_valid ? "Proven." : "The proof does not hold."}</strong> {detail.proof.says}
          </Banner>
        )}
        <Research followed={followed} />
        <Review followed={followed} isOver={standing.isOver} />
      </Delivered>
      {/* Only what no model was asked for is made by code alone, and can be made at length. */}
      {story.goal?.depth === "answer" && delivery.tokens === 0 && delivery.headline !== "" && (
        <MakeInFull goal={story.goal} />
      )}
      <RunStatements run={run} named={story.goal?.connections ?? []} />
      <section>
        <h2>Files</h2>
        <ul className={css.files}>
          {artifacts.map((file) => (
            <li key={file.name}>
              <Button
                size="small"
                onClick={() => download(calls.readArtifact(run, file.name), file.name).catch(tellProblem)}
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

/** The short notebook has what the question needs; the long one is another run, and another file. */
function MakeInFull({ goal }: { goal: Goal }) {
  const [isBusy, setBusy] = useState(false);
  const make = () => {
    setBusy(true);
    goOn(goal, { goal: goal.words, models: ["analyst"], notebook: null, depth: "full" })
      .catch(tellProblem)
      .finally(() => setBusy(false));
  };
  return (
    <section>
      <h2>Go on</h2>
      <p className={css.more}>
        <Button size="small" isBusy={isBusy} onClick={make}>
          Every column and every test
        </Button>
        <span className={css.soft}>A second, long notebook about the same data; this one stays as it is.</span>
      </p>
    </section>
  );
}
