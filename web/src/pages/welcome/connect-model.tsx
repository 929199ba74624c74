import { useState } from "react";
import { Link } from "wouter";

import { calls } from "../../api/client";
import type { Provider } from "../../api/types";
import { Card, Loading, ProblemBanner, useFetched } from "../../parts";
import { KeyForm } from "../settings/provider-row";
import { useMay } from "../settings/section";
import css from "./welcome.module.css";

/** One key, and agents can work on any goal. */
export function ConnectModel() {
  const found = useFetched(calls.listModels());
  return (
    <Card title="Connect a model">
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.isLoading && <Loading />}
      {found.value !== null && <Chooser providers={found.value.providers} onChanged={found.refresh} />}
    </Card>
  );
}

function Chooser({ providers, onChanged }: { providers: readonly Provider[]; onChanged: () => void }) {
  const ready = providers.filter((provider) => provider.is_ready);
  const open = providers.filter((provider) => !provider.is_ready && provider.key_from !== "not needed");
  const [chosen, setChosen] = useState("");
  const mayChange = useMay("admin");
  const provider = open.find((each) => each.name === chosen) ?? open[0];
  return (
    <>
      <p className={css.text}>
        {ready.length > 0 ? (
          <>
            <span className={css.good}>✓ Ready:</span> {ready.map((each) => each.name).join(", ")}. You can connect more.
          </>
        ) : (
          "With a model, agents work on any goal. Its key stays in a process of its own."
        )}
      </p>
      {mayChange && provider !== undefined && (
        <div className={css.connect}>
          <select aria-label="Provider" value={provider.name} onChange={(event) => setChosen(event.target.value)}>
            {open.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
          <KeyForm key={provider.name} provider={provider.name} onKept={onChanged} isQuiet />
        </div>
      )}
      <p className={css.small}>
        <Link href="/settings/models">All models and prices</Link>
      </p>
    </>
  );
}
