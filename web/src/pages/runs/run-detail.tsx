import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";

import { calls } from "../../api/client";
import type { Artifact, RunDetail } from "../../api/types";
import { useHouse } from "../../house";
import { Button, Loading, ProblemBanner, ReportFrame, StatusDot, Tabs, cost, dateTime, elapsed, isOver, panelProps, thousands, useFetched, useKeys } from "../../parts";
import { FactsCard } from "./facts-card";
import { FilesCard } from "./files-card";
import { useRunList } from "./list-state";
import { usePageTitle } from "./page-title";
import { ProofCard } from "./proof-card";
import { Result } from "./result";
import { RunActions } from "./run-actions";
import { TimelineView } from "./timeline-view";
import { useTimeline } from "./use-timeline";
import css from "./detail.module.css";

type Panel = "result" | "timeline" | "report";
const EVERY_MS = 4_000;

/** Everything about one run: what came of it, what happened, what proves it. */
export function RunDetailPage({ run }: { run: string }) {
  const [isLive, setLive] = useState(false);
  const found = useFetched(calls.showRun(run), isLive ? EVERY_MS : undefined);
  const artifacts = useFetched(calls.listArtifacts(run));
  const isGoing = found.value !== null && !isOver(found.value);
  const told = useHouse((house) => house.runs[run]?.status);
  const [, go] = useLocation();
  usePageTitle(found.value?.goal?.words.slice(0, 60) ?? "Run");
  useEffect(() => setLive(isGoing), [isGoing]);
  const toldBefore = useRef(told);
  useEffect(() => {
    // Asked again whenever the house says that the run stands differently.
    if (toldBefore.current !== undefined && toldBefore.current !== told) {
      found.refresh();
      artifacts.refresh();
    }
    toldBefore.current = told;
  }, [told]);
  useKeys("This run", [
    { keys: "u", does: "Back to all runs", act: () => go("/runs") },
    { keys: "o", does: "Open its notebook", act: () => go(`/runs/${run}`) },
  ]);
  return (
    <div className={css.page}>
      <Link href="/runs" className={css.back}>
        ← All runs
      </Link>
      {found.error !== null && <ProblemBanner error={found.error} actions={<Button size="small" onClick={found.refresh}>Try again</Button>} />}
      {found.value === null && <KnownHead run={run} />}
      {found.isLoading && <Loading what="Reading the journal…" />}
      {found.value !== null && <Body detail={found.value} artifacts={artifacts.value?.artifacts ?? null} onChanged={found.refresh} />}
    </div>
  );
}

interface BodyProps {
  detail: RunDetail;
  /** null: not known yet. */
  artifacts: Artifact[] | null;
  onChanged: () => void;
}

function Body({ detail, artifacts, onChanged }: BodyProps) {
  const [panel, setPanel] = useState<Panel>("result");
  const told = useTimeline(detail.run, !isOver(detail));
  const report = artifacts?.find((each) => each.kind === "report");
  const tabs = [
    { id: "result" as const, title: isOver(detail) ? "Result" : "Progress" },
    { id: "timeline" as const, title: "Timeline" },
    ...(report === undefined ? [] : [{ id: "report" as const, title: "Report" }]),
  ];
  return (
    <>
      <Head detail={detail} onChanged={onChanged} />
      <div className={panel === "result" ? css.columns : css.wide}>
        <div className={css.content}>
          <Tabs label="About this run" tabs={tabs} selected={panel} onSelect={setPanel} idBase="detail" />
          <div {...panelProps("detail", panel)} className={css.panel}>
            {panel === "result" && <Result detail={detail} />}
            {panel === "timeline" && <TimelineView told={told} isLive={!isOver(detail)} />}
            {panel === "report" && report !== undefined && <div className={css.report}><ReportFrame run={detail.run} name={report.name} /></div>}
          </div>
        </div>
        {panel === "result" && (
          <aside className={css.aside} aria-label="Facts about this run">
            <ProofCard detail={detail} />
            <FilesCard run={detail.run} artifacts={artifacts} isOver={isOver(detail)} onReport={() => setPanel("report")} />
            <FactsCard detail={detail} />
          </aside>
        )}
      </div>
    </>
  );
}

/** What is known already, where it will stand: nothing moves when the rest comes. */
function KnownHead({ run }: { run: string }) {
  const told = useHouse((house) => house.runs[run]);
  const line = told ?? useRunList.getState().runs.find((each) => each.run === run);
  return (
    <header className={css.head}>
      <div className={css.titles}>
        <h1 className={css.goal}>{line?.goal || `Run ${run}`}</h1>
        <p className={css.meta}>{line !== undefined && <StatusDot status={line.status} />}&nbsp;</p>
      </div>
    </header>
  );
}

function Head({ detail, onChanged }: { detail: RunDetail; onChanged: () => void }) {
  return (
    <header className={css.head}>
      <div className={css.titles}>
        <h1 className={css.goal}>{detail.goal?.words ?? detail.run}</h1>
        <p className={css.meta}>
          <span role="status">
            <StatusDot status={detail.status} />
          </span>
          <span>{cost(detail.microdollars, detail.unpriced_tokens)}</span>
          {detail.tokens > 0 && <span>{thousands(detail.tokens)} tokens</span>}
          <span>{elapsed(detail.seconds)}</span>
          <span>{dateTime(detail.began_ms)}</span>
        </p>
      </div>
      <RunActions detail={detail} onChanged={onChanged} />
    </header>
  );
}
