import { calls } from "../../api/client";
import type { Model, Models } from "../../api/types";
import { Card, Table, thousands, useFetched } from "../../parts";
import { ProviderRow } from "./provider-row";
import { Awaited, NeedsScope, Section, useMay } from "./section";
import css from "./settings.module.css";

const TIERS: Record<string, string> = { fast: "Quick and cheap", smart: "Hard thinking", code: "Writing cells", embed: "Finding similar text" };

export function ModelsSection() {
  const found = useFetched(calls.listModels());
  const mayChange = useMay("admin");
  return (
    <Section
      title="Models and keys"
      lead="Keys go to a process of their own and never come back: not to this page, not to an agent, not to a log. Without any key the built-in analyst works."
    >
      {!mayChange && <NeedsScope scope="admin" />}
      <Awaited found={found}>
        {(models) => (
          <>
            <Card title="Providers" isFlush>
              <ul className={css.rows}>
                {models.providers.toSorted(readyFirst).map((provider) => (
                  <ProviderRow key={provider.name} provider={provider} mayChange={mayChange} onChanged={found.refresh} />
                ))}
              </ul>
            </Card>
            <Chains tiers={models.tiers} />
            <Known models={models.models} />
          </>
        )}
      </Awaited>
    </Section>
  );
}

function readyFirst(one: { is_ready: boolean; name: string }, other: { is_ready: boolean; name: string }): number {
  return Number(other.is_ready) - Number(one.is_ready) || one.name.localeCompare(other.name);
}

function Chains({ tiers }: { tiers: Models["tiers"] }) {
  return (
    <Card title="Who is asked">
      <p className={css.cardLead}>Agents ask the first of a chain that answers, and the next one if it fails.</p>
      <dl className={css.chains}>
        {Object.entries(tiers).map(([tier, chain]) => (
          <div key={tier}>
            <dt>
              <b>{tier}</b>
              <span>{TIERS[tier] ?? ""}</span>
            </dt>
            <dd>
              {chain.length === 0 ? (
                <span className={css.faint}>nobody: connect a provider</span>
              ) : (
                chain.map((name) => (
                  <code key={name} className={css.chip}>
                    {name}
                  </code>
                ))
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Known({ models }: { models: readonly Model[] }) {
  return (
    <Card title="Models we know" isFlush>
      <Table
        caption="Models, what they cost and whether they are ready"
        rows={models.toSorted(readyFirst)}
        rowKey={(model) => model.name}
        columns={[
          { title: "Model", cell: (model) => <code>{model.name}</code> },
          { title: "Ready", cell: (model) => <Ready model={model} /> },
          { title: "Context", cell: (model) => (model.context_tokens === null ? "–" : thousands(model.context_tokens)), isNumber: true },
          { title: "In, per million", cell: (model) => price(model.input_price_per_million, model.currency), isNumber: true },
          { title: "Out, per million", cell: (model) => price(model.output_price_per_million, model.currency), isNumber: true },
        ]}
      />
    </Card>
  );
}

function Ready({ model }: { model: Model }) {
  if (model.health === "open") return <span className={css.warnWord}>left alone: it failed too often</span>;
  return model.is_ready ? <span className={css.goodWord}>✓ ready</span> : <span className={css.faint}>no</span>;
}

function price(amount: string | null, currency: string): string {
  if (amount === null) return "unknown";
  return currency === "USD" ? `$${amount}` : `${amount} ${currency}`;
}
