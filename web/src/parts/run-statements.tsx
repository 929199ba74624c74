import { useState } from "react";

import { calls } from "../api/client";
import { Button } from "./button";
import { useFetched } from "./fetched";
import { Loading } from "./spinner";
import { ProblemBanner } from "./banner";
import { StatementList } from "./statement-list";
import css from "./statements.module.css";

const MOST = 200;

/** What a run sent through connections, in a fold that asks when it is opened; nothing, where there is none. */
export function RunStatements({ run, named }: { run: string; named: readonly string[] }) {
  const [isOpen, setOpen] = useState(false);
  const known = useFetched(named.length > 0 ? null : calls.listConnections({ is_counted: false }));
  const found = useFetched(isOpen ? calls.listStatements({ run, most: MOST }) : null);
  if (named.length === 0 && (known.value?.connections.length ?? 0) === 0) return null;
  return (
    <details className={css.runFold} onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
      <summary>
        <h2>What it asked of connections</h2>
      </summary>
      {found.isLoading && <Loading />}
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.value !== null && (
        <>
          <StatementList statements={found.value.statements} none="This run sent nothing" hasConnections />
          <Button size="small" onClick={found.refresh}>
            Look again
          </Button>
        </>
      )}
    </details>
  );
}
