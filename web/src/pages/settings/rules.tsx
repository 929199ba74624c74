import { calls } from "../../api/client";
import type { Rules } from "../../api/types";
import { Card, Empty, Table, useFetched } from "../../parts";
import { Awaited, Section } from "./section";
import { WhyForm } from "./why-form";
import { SAYINGS } from "./wanted";
import css from "./settings.module.css";

export function RulesSection() {
  const found = useFetched(calls.listRules());
  return (
    <Section title="Policy rules" lead="What agents may do, must ask about, and may never do. The strictest rule that speaks of an action wins.">
      <Awaited found={found}>
        {(rules) => (
          <>
            <WhyForm folder={rules.project} />
            <Card title="Rules that hold here" isFlush>
              <Table
                caption="Rules, the first layer first"
                rows={rules.rules}
                rowKey={(rule) => `${rule.where} ${rule.says}`}
                columns={[
                  { title: "Says", cell: (rule) => <span className={css.saying} data-says={rule.says}>{SAYINGS[rule.says]}</span> },
                  { title: "To", cell: (rule) => rule.actions.map((action) => action.replace("-", " ")).join(", ") },
                  { title: "Because", cell: (rule) => rule.reason || "–" },
                  { title: "Written in", cell: (rule) => <code>{shortPlace(rule.where)}</code> },
                ]}
              />
            </Card>
            <Limits rules={rules} />
            <Files rules={rules} />
          </>
        )}
      </Awaited>
    </Section>
  );
}

function shortPlace(where: string): string {
  return where.slice(where.lastIndexOf("/") + 1);
}

function Limits({ rules }: { rules: Rules }) {
  return (
    <Card title="Limits">
      {rules.limits.length === 0 ? (
        <Empty title="No limits are set">
          <p>
            A run’s own budget still holds. Set limits for everybody in <code>rules.toml</code>.
          </p>
        </Empty>
      ) : (
        <ul className={css.plainList}>
          {rules.limits.map((limit) => (
            <li key={limit.where}>
              {limit.limit} <code className={css.faint}>{shortPlace(limit.where)}</code>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Files({ rules }: { rules: Rules }) {
  return (
    <Card title="Where rules are written" isFlush>
      <Table
        caption="Rule files"
        rows={rules.layers}
        rowKey={(layer) => layer.file}
        columns={[
          { title: "Layer", cell: (layer) => layer.layer },
          { title: "File", cell: (layer) => <code className={css.path}>{layer.file}</code> },
          { title: "Is it there", cell: (layer) => (layer.is_there ? <span className={css.goodWord}>✓ there</span> : <span className={css.faint}>not there yet</span>) },
        ]}
      />
    </Card>
  );
}
