import { useState } from "react";

import { calls } from "../../api/client";
import type { ApiContents, ApiOperation, DataConnection } from "../../api/types";
import { Banner, Card, Empty, SnippetCard, Table, useFetched } from "../../parts";
import { Awaited } from "../settings/section";
import { SearchBox } from "./search-box";
import { requestSnippet } from "./snippets";
import css from "./connections.module.css";

/** What an API connection lets cells ask: by its document, else by what the connection allows. */
export function ApiView({ connection }: { connection: DataConnection }) {
  const found = useFetched(calls.connectionOperations(connection.name));
  return (
    <Awaited found={found}>
      {(api) => (
        <div className={css.api}>
          <Allowed api={api} />
          <SnippetCard {...requestSnippet(api, null)} />
          {api.problem !== "" && (
            <Banner tone="warn">
              <strong>Its document {api.document} cannot be used.</strong> {api.problem}
            </Banner>
          )}
          {api.document === "" ? (
            <p className={css.faint}>
              With its OpenAPI document (“Change”, then “OpenAPI document”) what it can be asked is listed here, and what
              only reads are tools of agents.
            </p>
          ) : (
            api.problem === "" && <Operations api={api} />
          )}
        </div>
      )}
    </Awaited>
  );
}

function Allowed({ api }: { api: ApiContents }) {
  const facts: (readonly [string, string])[] = [
    ["Requests to", `${api.origin}${api.base}`],
    ["Methods", api.methods.join(", ")],
    ["Paths", api.paths.length === 0 ? "all below the address" : api.paths.map((path) => `${path} and below`).join(", ")],
    ["Its secret is put in", `${api.header}: ${api.stand_in}`],
  ];
  return (
    <Card title="What is allowed">
      <dl className={css.allowed}>
        {facts.map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p className={css.faint}>Everything else is refused before a byte leaves, and recorded.</p>
    </Card>
  );
}

function Operations({ api }: { api: ApiContents }) {
  const [search, setSearch] = useState("");
  const parts = search.toLowerCase().split(/\s+/);
  const fitting = api.operations.filter(({ method, path, name, words }) => {
    const told = `${method} ${path} ${name} ${words}`.toLowerCase();
    return parts.every((part) => told.includes(part));
  });
  return (
    <section aria-label="Operations" className={css.operations}>
      <h2>{api.title || "What it can be asked"}</h2>
      <SearchBox what="Search operations" room="Operations" onSearch={setSearch} />
      <p className={css.faint} role="status">
        {countWords(api, fitting.length)}
      </p>
      {fitting.length === 0 ? (
        <Empty title="Nothing fits" />
      ) : (
        <ul className={css.folds}>
          {fitting.map((operation) => (
            <li key={operation.name}>
              <Operation api={api} operation={operation} />
            </li>
          ))}
        </ul>
      )}
      {api.left_out.length > 0 && (
        <details>
          <summary>{api.left_out.length} that cannot be asked this way</summary>
          <ul className={css.remarks}>
            {api.left_out.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Operation({ api, operation }: { api: ApiContents; operation: ApiOperation }) {
  const [isOpen, setOpen] = useState(false);
  const { method, path, words, refused, parameters } = operation;
  return (
    <details className={css.fold} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b className={css.method} data-refused={refused !== ""}>
          {method}
        </b>
        <code>{path}</code>
        <span className={css.faint}>{words}</span>
        {refused !== "" && <span className={css.untried}>not allowed</span>}
      </summary>
      {isOpen && (
        <div className={css.inside}>
          {refused !== "" && <p className={css.faint}>The connection does not send it: {refused}.</p>}
          {parameters.length > 0 && (
            <Table
              caption={`Arguments of ${method} ${path}`}
              rows={parameters}
              rowKey={(each) => `${each.place} ${each.name}`}
              columns={[
                { title: "Argument", cell: (each) => <code>{each.name}</code> },
                { title: "In", cell: (each) => `${each.place}${each.is_required ? ", needed" : ""}` },
                { title: "Type", cell: (each) => each.type },
                { title: "About it", cell: (each) => <span className={css.value}>{each.words}</span> },
              ]}
            />
          )}
          {refused === "" && <SnippetCard {...requestSnippet(api, operation)} />}
        </div>
      )}
    </details>
  );
}

function countWords(api: ApiContents, fitting: number): string {
  const all = `${api.total} ${api.total === 1 ? "operation" : "operations"}`;
  const shown = api.operations.length < api.total ? `, the first ${api.operations.length} are listed` : "";
  return `${fitting < api.operations.length ? `${fitting} of ` : ""}${all}${shown}`;
}
