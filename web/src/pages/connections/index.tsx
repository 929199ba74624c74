import { useEffect, useRef } from "react";
import { useParams } from "wouter";

import { calls } from "../../api/client";
import { Banner, useFetched } from "../../parts";
import { Awaited } from "../settings/section";
import { ConnectionForm } from "./connection-form";
import { ConnectionList } from "./connection-list";
import { ConnectionView } from "./connection-view";
import { ADDING, contentOf } from "./places";
import css from "./connections.module.css";

/** Connections by name: all of them, one of them, or a form for one. */
export default function ConnectionsPage() {
  const params = useParams();
  const { name, view } = params;
  const place = params["*"] ?? "";
  const found = useFetched(calls.listConnections());
  const isFirst = useRef(true);
  useEffect(() => {
    // What was sent meanwhile is counted at every other place of this room.
    if (!isFirst.current) found.refresh();
    isFirst.current = false;
  }, [name, view]);
  return (
    <div className={css.page}>
      <Awaited found={found}>
        {(connections) => {
          if (name === undefined) return <ConnectionList connections={connections} />;
          if (name === ADDING) return <ConnectionForm key={ADDING} connections={connections} before={null} onSaved={found.refresh} />;
          const connection = connections.connections.find((each) => each.name === name);
          if (connection === undefined) return <Unknown name={name} />;
          if (view === "change")
            return <ConnectionForm key={name} connections={connections} before={connection} onSaved={found.refresh} />;
          return (
            <ConnectionView
              key={name}
              connection={connection}
              view={view === "statements" ? "statements" : contentOf(connection)}
              place={view === "folders" ? `${place}/` : view === contentOf(connection) ? place : ""}
              onChanged={found.refresh}
            />
          );
        }}
      </Awaited>
    </div>
  );
}

function Unknown({ name }: { name: string }) {
  return (
    <>
      <h1 className="visually-hidden">No such connection</h1>
      <Banner tone="warn" actions={<a href="#/connections">All connections</a>}>
        No connection is called {name}.
      </Banner>
    </>
  );
}
