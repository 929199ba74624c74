import { useState } from "react";
import { Link } from "wouter";

import type { Usage } from "../../api/types";
import { calls, download } from "../../api/client";
import { Button, Card, Choices, Empty, Loading, ProblemBanner, tellProblem, useFetched } from "../../parts";
import { CostByDay } from "./cost-by-day";
import { CostByModel, CostByRun } from "./cost-by-name";
import { KernelPanels } from "./kernels";
import { FailuresPanel, LatencyPanel } from "./latency";
import { Tiles } from "./tiles";
import { usePageTitle } from "../runs/page-title";
import css from "./dashboards.module.css";

const RANGES = [7, 30, 90].map((id) => ({ id, title: `${id} days` }));
const USAGE_MS = 15_000;
const KERNELS_MS = 2_000;

/** What it costs, how well it answers, what it uses now. */
export default function DashboardsPage() {
  usePageTitle("Dashboards");
  const [days, setDays] = useState<number>(30);
  const usage = useFetched(calls.readUsage({ days }), USAGE_MS);
  const kernels = useFetched(calls.listKernels(), KERNELS_MS);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>Dashboards</h1>
        <div className={css.tools}>
          <Choices label="How many days" options={RANGES} selected={days} onSelect={setDays} />
          <Button onClick={() => void download(calls.exportUsage({ days }), `cellwright-usage-${days}-days.csv`).catch(tellProblem)}>All sums as CSV</Button>
        </div>
      </header>
      <Tiles usage={usage.value} now={kernels.value} days={days} />
      {usage.error !== null && <Problem error={usage.error} again={usage.refresh} />}
      <div className={css.grid}>
        {usage.value === null ? usage.error === null && <Waiting /> : <UsagePanels usage={usage.value} days={days} />}
        {kernels.error !== null && kernels.error !== usage.error && <Problem error={kernels.error} again={kernels.refresh} />}
        {kernels.value !== null && <KernelPanels now={kernels.value} />}
      </div>
    </div>
  );
}

function UsagePanels({ usage, days }: { usage: Usage; days: number }) {
  if (usage.by_model.length === 0 && usage.latency.length === 0) return <NoModelYet days={days} />;
  return (
    <>
      <CostByDay usage={usage} days={days} />
      <CostByModel usage={usage} />
      <CostByRun usage={usage} />
      <LatencyPanel latency={usage.latency} />
      <FailuresPanel latency={usage.latency} />
    </>
  );
}

function NoModelYet({ days }: { days: number }) {
  return (
    <Card className={css.isWide ?? ""}>
      <Empty title={`No model was asked in the last ${days} days`}>
        <p>
          Cost, speed and failures are drawn here from the first call on. The built-in analyst asks no model and costs nothing.
        </p>
        <p>
          <Link href="/settings/models">Connect a model</Link>
        </p>
      </Empty>
    </Card>
  );
}

function Waiting() {
  return (
    <div className={css.waiting}>
      <Loading what="Adding up…" />
    </div>
  );
}

function Problem({ error, again }: { error: unknown; again: () => void }) {
  return (
    <div className={css.isWide}>
      <ProblemBanner error={error} actions={<Button size="small" onClick={again}>Try again</Button>} />
    </div>
  );
}
