import type { DoctorFinding, Tier } from "../../api/types";
import css from "./settings.module.css";

const TIERS: Record<Tier, { title: string; says: string }> = {
  A: {
    title: "Fully contained",
    says: "Agents’ code runs in a cage: it sees the project and nothing else of this machine, reaches the network only where you agreed, and its memory and time are bounded.",
  },
  B: { title: "Contained, without totals", says: "As good as it gets without control groups: limits of memory and CPU hold for each process, not for all of them together." },
  C: { title: "Partly contained", says: "Without user namespaces there is no private process list and no private /tmp; files and system calls are still guarded, and all sockets are refused." },
  D: { title: "Not contained", says: "This machine cannot hold agents’ code back. Runs are refused unless a person says otherwise, and never go unattended." },
};

/** How well this machine holds code of agents back. */
export function TierBadge({ tier }: { tier: Tier }) {
  return (
    <div className={css.tier} data-tier={tier}>
      <span className={css.tierLetter} aria-hidden="true">
        {tier}
      </span>
      <div>
        <b>
          <span className="visually-hidden">Tier {tier}: </span>
          {TIERS[tier].title}
        </b>
        <p>{TIERS[tier].says}</p>
      </div>
    </div>
  );
}

export interface Group {
  title: string;
  findings: readonly DoctorFinding[];
}

/** The findings by what they are about; what is amiss comes first in each. */
export function groupsOf(findings: readonly DoctorFinding[]): Group[] {
  const about = (prefix: string) =>
    findings
      .filter((finding) => finding.name.startsWith(prefix))
      .map((finding) => ({ ...finding, name: finding.name.slice(prefix.length).trim().replaceAll("_", " ") }));
  const rest = findings.filter((finding) => !/^(sandbox|models):/.test(finding.name));
  return [
    { title: "The cage", findings: about("sandbox:") },
    { title: "What runs notebooks", findings: rest },
    { title: "Models", findings: about("models:") },
  ].filter((group) => group.findings.length > 0);
}

export function FindingList({ findings }: { findings: readonly DoctorFinding[] }) {
  return (
    <ul className={css.rows}>
      {findings.map((finding) => (
        <li key={finding.name} className={css.finding}>
          <span className={css.mark} data-ok={finding.ok} aria-hidden="true">
            {finding.ok ? "✓" : "!"}
          </span>
          <span className={css.rowMain}>
            <b>
              <span className="visually-hidden">{finding.ok ? "Well: " : "Amiss: "}</span>
              {finding.name}
            </b>
            <span className={css.faint}>{finding.detail}</span>
            {!finding.ok && finding.consequence !== "" && <Told text={finding.consequence} />}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Commands stand between backticks. */
function Told({ text }: { text: string }) {
  return (
    <span className={css.told}>
      {text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
    </span>
  );
}
