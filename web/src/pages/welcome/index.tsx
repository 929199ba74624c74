import { useState } from "react";
import { Link, useLocation } from "wouter";

import { calls, request } from "../../api/client";
import type { Onboarding } from "../../api/types";
import { Button, Card, Loading, ProblemBanner, tellProblem, useFetched } from "../../parts";
import { ConnectModel } from "./connect-model";
import { Protection } from "./protection";
import { Tutorial } from "./tutorial";
import { usePageTitle } from "../runs/page-title";
import css from "./welcome.module.css";

type Dataset = Onboarding["datasets"][number];

/** What a newcomer sees: something that works with one click, and what protects them. */
export default function WelcomePage() {
  usePageTitle("Welcome");
  const found = useFetched(calls.readOnboarding());
  return (
    <div className={css.page}>
      <header className={css.hero}>
        <p className={css.kicker}>{found.value?.is_first === false ? "First steps" : "Welcome to Cellwright"}</p>
        <h1>State a goal. Get a notebook you can trust.</h1>
        <ol className={css.steps}>
          <li>
            <b>It plans and builds</b>
            <span>Agents write cells of a real marimo notebook. You watch, steer, undo.</span>
          </li>
          <li>
            <b>You keep control</b>
            <span>Code runs in a cage. What reaches further asks you first, with exactly what will happen.</span>
          </li>
          <li>
            <b>It proves the result</b>
            <span>Run twice from scratch, compared cell by cell, checked and signed.</span>
          </li>
        </ol>
      </header>
      {found.error !== null && <ProblemBanner error={found.error} actions={<Button size="small" onClick={found.refresh}>Try again</Button>} />}
      {found.isLoading && <Loading />}
      {found.value !== null && <Datasets datasets={found.value.datasets} />}
      <div className={css.columns}>
        <div className={css.column}>
          {found.value !== null && <Tutorial title={found.value.tutorial} />}
          <ConnectModel />
          <Card title="Your own data">
            <p className={css.text}>Drop files on the goal box, say what you want to know, and set a budget if you like.</p>
            <Link href="/" className={css.linkButton}>
              New goal
            </Link>
          </Card>
        </div>
        <Protection />
      </div>
    </div>
  );
}

function Datasets({ datasets }: { datasets: readonly Dataset[] }) {
  return (
    <section aria-labelledby="try">
      <h2 id="try" className={css.heading}>
        See it work in a minute
        <span>The built-in analyst needs no model and no key; nothing leaves this machine.</span>
      </h2>
      <div className={css.datasets}>
        {datasets.map((dataset) => (
          <DatasetCard key={dataset.id} dataset={dataset} />
        ))}
      </div>
    </section>
  );
}

function DatasetCard({ dataset }: { dataset: Dataset }) {
  const [isBusy, setBusy] = useState(false);
  const [, go] = useLocation();
  const start = async () => {
    setBusy(true);
    try {
      const { run } = await request(calls.tryDataset(dataset.id));
      go(`/runs/${run}`);
    } catch (error) {
      tellProblem(error);
      setBusy(false);
    }
  };
  return (
    <article className={css.dataset}>
      <h3 className={css.question}>{dataset.question}</h3>
      <p className={css.text}>{dataset.title}</p>
      <p className={css.files}>
        {dataset.files.map((file) => (
          <code key={file}>{file}</code>
        ))}
      </p>
      <Button look="primary" isBusy={isBusy} onClick={() => void start()} aria-label={`Start the analyst: ${dataset.question}`}>
        Start the analyst
      </Button>
    </article>
  );
}
