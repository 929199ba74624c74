import { useState } from "react";

import { calls, request } from "../../api/client";
import type { Grant } from "../../api/types";
import { Button, Card, Empty, dateTime, tell, tellProblem, useFetched } from "../../parts";
import { Awaited, NeedsScope, Section, useMay } from "./section";
import css from "./settings.module.css";

export function ApprovalsSection() {
  const found = useFetched(calls.listGrants());
  const mayChange = useMay("approve");
  return (
    <Section title="Standing approvals" lead="What you said yes to for longer than once. Take one back and it asks again, at once, also in runs that are at work.">
      {!mayChange && <NeedsScope scope="approve" />}
      {mayChange && (
        <Awaited found={found}>
          {({ grants }) => (
            <Card isFlush>
              {grants.length === 0 ? (
                <Empty title="Nothing is approved in advance">When a run asks, “always” puts it here.</Empty>
              ) : (
                <ul className={css.rows}>
                  {grants.map((grant) => (
                    <GrantRow key={grant.id} grant={grant} onRevoked={found.refresh} />
                  ))}
                </ul>
              )}
            </Card>
          )}
        </Awaited>
      )}
    </Section>
  );
}

function GrantRow({ grant, onRevoked }: { grant: Grant; onRevoked: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const revoke = async () => {
    setBusy(true);
    try {
      await request(calls.revokeGrant(grant.id));
      tell("Taken back: it asks again.");
      onRevoked();
    } catch (error) {
      tellProblem(error);
      setBusy(false);
    }
  };
  return (
    <li className={css.row}>
      <span className={css.rowMain}>
        <b>{grant.covers}</b>
        <span className={css.faint}>
          {reach(grant)} · said by {grant.by} on {dateTime(grant.at_ms)}
        </span>
      </span>
      <span className={css.rowActions}>
        <Button size="small" look="danger" isBusy={isBusy} onClick={() => void revoke()} aria-label={`Take back: ${grant.covers}`}>
          Take back
        </Button>
      </span>
    </li>
  );
}

function reach(grant: Grant): string {
  if (grant.reach === "run") return "until its run ends";
  return grant.expires_ms === null ? `always, in ${grant.project}` : `until ${dateTime(grant.expires_ms)}, in ${grant.project}`;
}
