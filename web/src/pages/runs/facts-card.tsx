import type { ReactNode } from "react";

import type { RunDetail } from "../../api/types";
import { Card } from "../../parts";
import { fileName } from "./run-row";
import css from "./detail.module.css";

const APPROVES = { ask: "asked whenever rules leave it open", envelope: "asked once, for the plan", never: "never asked; refused instead" };

/** What the run was given. */
export function FactsCard({ detail }: { detail: RunDetail }) {
  const { goal } = detail;
  return (
    <Card title="What it was given">
      <dl className={css.facts}>
        <Fact name="Notebook">
          <span title={detail.notebook}>{fileName(detail.notebook) || "none yet"}</span>
        </Fact>
        {goal !== null && goal.data.length > 0 && (
          <Fact name="Data">
            {goal.data.map((path) => (
              <span key={path} title={path} className={css.block}>
                {fileName(path)}
              </span>
            ))}
          </Fact>
        )}
        {goal !== null && goal.connections.length > 0 && <Fact name="Databases">{goal.connections.join(", ")}</Fact>}
        {goal !== null && (
          <>
            <Fact name="Models">{goal.models.length > 0 ? goal.models.join(", ") : "by role"}</Fact>
            <Fact name="Budget">{goal.budget_usd === null ? "no cap" : `$${goal.budget_usd}`}</Fact>
            <Fact name="You are">{APPROVES[goal.approve]}</Fact>
            {goal.is_private && <Fact name="Private">nothing leaves this machine</Fact>}
            {goal.continues !== "" && (
              <Fact name="Continues">
                <a href={`#/runs/${goal.continues}/detail`}>{goal.continues}</a>
              </Fact>
            )}
          </>
        )}
        <Fact name="Started by">{detail.person}</Fact>
        <Fact name="Steps">{detail.steps}</Fact>
        <Fact name="Run">
          <code>{detail.run}</code>
        </Fact>
      </dl>
    </Card>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
