import { useEffect, useState } from "react";

import { Button, StatusDot, cost, dollars, elapsed, statusWord, thousands } from "../../parts";
import type { FollowedRun } from "./follow-run";
import type { RunCommands } from "./commands";
import { RAIL, type Standing } from "./standing";
import css from "./run.module.css";

export interface RunHeaderProps {
  followed: FollowedRun;
  standing: Standing;
  commands: RunCommands;
}

/** What it is about, how it stands, what it costs; and how to hold it. */
export function RunHeader({ followed, standing, commands }: RunHeaderProps) {
  const { story } = followed;
  const [isWhole, setIsWhole] = useState(false);
  const words = story.goal?.words ?? "…";
  return (
    <header className={css.header}>
      <div className={css.titleRow}>
        <h1 className={isWhole ? css.goalWhole : css.goal} title={isWhole ? undefined : words}>
          {words.length > 110 ? (
            <button
              type="button"
              className={css.goalButton}
              aria-expanded={isWhole}
              onClick={() => setIsWhole(!isWhole)}
            >
              {words}
            </button>
          ) : (
            words
          )}
        </h1>
        <StatusDot status={standing.status} word={commands.isStopping ? "stopping…" : statusWord(standing.status)} />
      </div>
      <StageRail followed={followed} standing={standing} />
      <div className={css.holdRow}>
        <Figures followed={followed} standing={standing} />
        <Holds standing={standing} commands={commands} />
      </div>
    </header>
  );
}

function StageRail({ followed, standing }: { followed: FollowedRun; standing: Standing }) {
  const { story } = followed;
  const reached = story.stage === "over" ? RAIL.length : RAIL.findIndex((each) => each.stage === story.stage);
  return (
    <ol className={css.rail} aria-label="Stages">
      {RAIL.map(({ stage, title }, at) => {
        const state = at < reached ? "past" : at === reached ? "now" : "next";
        return (
          <li
            key={stage}
            className={css[state === "now" && standing.isOver ? "cut" : state]}
            aria-current={state === "now" ? "step" : undefined}
          >
            {title}
            {state === "past" && <span className="visually-hidden"> (done)</span>}
          </li>
        );
      })}
    </ol>
  );
}

function Figures({ followed, standing }: { followed: FollowedRun; standing: Standing }) {
  const { story, detail } = followed;
  const capUsd = story.capUsd ?? 0;
  const share = capUsd > 0 ? story.microdollars / 1e6 / capUsd : null;
  return (
    <dl className={css.figures}>
      <div>
        <dt>Cost</dt>
        <dd title={detail?.cost}>
          {cost(story.microdollars, story.unpricedTokens)}
          {share !== null && <span className={css.of}> of {dollars(capUsd * 1e6)}</span>}
          {share !== null && (
            <meter
              className={css.meter}
              min={0}
              max={1}
              high={0.8}
              value={Math.min(1, share)}
              aria-label="Share of the hard cap that is spent"
            />
          )}
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>{thousands(story.tokens)}</dd>
      </div>
      <div>
        <dt>Time</dt>
        <dd>
          <Clock beganMs={story.beganMs} endMs={standing.isOver ? story.endedMs || story.lastMs : null} />
        </dd>
      </div>
    </dl>
  );
}

function Clock({ beganMs, endMs }: { beganMs: number; endMs: number | null }) {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (endMs !== null) return;
    const timer = setInterval(() => setNowMs(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [endMs]);
  return beganMs === 0 ? "0 s" : elapsed(((endMs ?? Math.max(nowMs, beganMs)) - beganMs) / 1000);
}

function Holds({ standing, commands }: { standing: Standing; commands: RunCommands }) {
  if (standing.isOver)
    return (
      <div className={css.holds}>
        {standing.isResumable && (
          <Button size="small" onClick={commands.resume} isBusy={commands.isBusy}>
            Resume
          </Button>
        )}
        <UndoRedo commands={commands} />
      </div>
    );
  return (
    <div className={css.holds}>
      {standing.isPaused ? (
        <Button size="small" look="primary" onClick={commands.resume} isBusy={commands.isBusy}>
          Resume
        </Button>
      ) : (
        <Button
          size="small"
          onClick={commands.pause}
          disabled={commands.isPausing}
          title="Pause before the next step (p)"
        >
          {commands.isPausing ? "Pausing…" : "Pause"}
        </Button>
      )}
      {commands.isStopping ? (
        <Button size="small" look="danger" onClick={commands.askCancel}>
          Cancel now…
        </Button>
      ) : (
        <Button size="small" look="danger" onClick={commands.stop} title="Stop and keep everything (s)">
          Stop
        </Button>
      )}
      <UndoRedo commands={commands} />
    </div>
  );
}

function UndoRedo({ commands }: { commands: RunCommands }) {
  return (
    <>
      <Button size="small" onClick={commands.askUndo}>
        Undo…
      </Button>
      {commands.redo !== null && (
        <Button size="small" onClick={commands.redo} disabled={commands.isBusy} title="Take back the last undo">
          Redo
        </Button>
      )}
    </>
  );
}
