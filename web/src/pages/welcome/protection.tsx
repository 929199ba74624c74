import { Link } from "wouter";

import { calls } from "../../api/client";
import type { Findings } from "../../api/types";
import { Card, Loading, ProblemBanner, useFetched } from "../../parts";
import { FindingList, TierBadge, groupsOf } from "../settings/findings";
import css from "./welcome.module.css";

/** What this machine protects, as it was found a moment ago. */
export function Protection() {
  const found = useFetched(calls.examineMachine());
  return (
    <Card title="What this machine protects">
      <div className={css.protection}>
        {found.error !== null && <ProblemBanner error={found.error} />}
        {found.isLoading && <Loading what="Trying the walls of the cage…" />}
        {found.value !== null && <Found findings={found.value} />}
      </div>
    </Card>
  );
}

function Found({ findings }: { findings: Findings }) {
  const [cage, ...rest] = groupsOf(findings.findings);
  const amiss = rest.filter((group) => group.title !== "Models").flatMap((group) => group.findings.filter((finding) => !finding.ok));
  return (
    <>
      <TierBadge tier={findings.tier} />
      {cage !== undefined && (
        <div className={css.found}>
          <FindingList findings={[...amiss, ...cage.findings]} />
        </div>
      )}
      <p className={css.small}>
        <Link href="/settings/machine">Everything that was looked at</Link>
      </p>
    </>
  );
}
