import type { HandOff, TaskWork } from "../../api/types";
import { dollars, thousands } from "../../parts";
import css from "./plan.module.css";

/** Who worked on a task, what that cost, and what was handed over to it and by it. */
export function TaskTeam({ work }: { work: TaskWork | undefined }) {
  if (work === undefined) return null;
  const agents = work.agents.map((agent) => agent.split("/").slice(1).join("/").replace(":", " ")).join(", ");
  const cost = work.microdollars > 0 ? ` · ${dollars(work.microdollars)}` : "";
  return (
    <>
      {agents !== "" && (
        <p className={css.meta}>
          {agents} · {thousands(work.tokens)} tokens{cost}
        </p>
      )}
      {work.gets_from.length > 0 && <p className={css.meta}>Builds on {work.gets_from.join(", ")}</p>}
      {work.hands_over !== null && <Handed handed={work.hands_over} to={work.hands_to} />}
    </>
  );
}

function Handed({ handed, to }: { handed: HandOff; to: readonly string[] }) {
  return (
    <>
      <p className={css.meta}>Handed over to {to.join(", ")}</p>
      <ul className={css.checks} aria-label="Handed over">
        {handed.variables.map((each) => (
          <li key={each.name} title={each.digest === "" ? each.type : `${each.type}, content ${each.digest}`}>
            <code>{each.name}</code> {each.size === "" ? each.type : each.size}
          </li>
        ))}
        {handed.tests.map((each) => (
          <li key={each.name}>
            <code>{each.name}</code> {each.verdict}
          </li>
        ))}
        {handed.readings.map((each) => (
          <li key={each}>read as: {each}</li>
        ))}
        {handed.words !== "" && <li>{handed.words}</li>}
      </ul>
    </>
  );
}
