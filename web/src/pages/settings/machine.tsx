import { calls } from "../../api/client";
import type { HouseSettings } from "../../api/types";
import { Button, Card, useFetched } from "../../parts";
import { FindingList, TierBadge, groupsOf } from "./findings";
import { Awaited, Section } from "./section";
import css from "./settings.module.css";

export function MachineSection() {
  const found = useFetched(calls.examineMachine());
  const settings = useFetched(calls.readSettings());
  return (
    <Section title="This machine" lead="How well notebooks are contained here, what is missing, and where things are kept.">
      <Awaited found={found}>
        {(findings) => (
          <>
            <TierBadge tier={findings.tier} />
            {groupsOf(findings.findings).map((group) => (
              <Card key={group.title} title={group.title} isFlush>
                <FindingList findings={group.findings} />
              </Card>
            ))}
            <Button className={css.again ?? ""} onClick={found.refresh}>Look again</Button>
          </>
        )}
      </Awaited>
      <Awaited found={settings}>{(value) => <Places settings={value} />}</Awaited>
    </Section>
  );
}

function Places({ settings }: { settings: HouseSettings }) {
  const pairs = [
    ["Version", settings.version],
    ["Folder", settings.folder],
    ["State", settings.state_directory],
    ["Cache", settings.cache],
    ["Team rules", settings.team_rules ?? "none"],
    ["Private hosts", settings.private_hosts.join(", ") || "none"],
    ["Commits as", [settings.git_name, settings.git_email].filter(Boolean).join(" ") || "the person a run works for"],
  ] as const;
  return (
    <Card title="Where things are">
      <dl className={css.pairs}>
        {pairs.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={css.path}>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
