import { Suspense, lazy, useEffect, useState } from "react";
import { Route, Router, Switch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";

import { onSessionEnded, startSession } from "./api/client";
import { followHouse } from "./house";
import { Banner, Boundary, Empty, Loading, ProblemBanner, Toasts } from "./parts";
import { Bar } from "./bar";
import { KeyHelp } from "./key-help";
import { listenToKeys } from "./parts/keys";
import RunPage from "./pages/run";
import css from "./app.module.css";

const RunsPage = lazy(() => import("./pages/runs"));
const ConnectionsPage = lazy(() => import("./pages/connections"));
const DashboardsPage = lazy(() => import("./pages/dashboards"));
const SettingsPage = lazy(() => import("./pages/settings"));
const WelcomePage = lazy(() => import("./pages/welcome"));

type Start = "starting" | "in" | "out";

/** The page: a session, then its rooms. */
export function App() {
  const [start, setStart] = useState<Start>("starting");
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    starting ??= startSession();
    starting.then(
      (isIn) => setStart(isIn ? "in" : "out"),
      (problem: unknown) => {
        setError(problem);
        setStart("out");
      },
    );
    return onSessionEnded(() => setStart("out"));
  }, []);
  if (start === "starting") return <Loading what="Opening…" />;
  if (start === "out") return <Locked error={error} />;
  return <Rooms />;
}

// The one-time word works once, also where effects run twice.
let starting: Promise<boolean> | undefined;

function Locked({ error }: { error: unknown }) {
  return (
    <main className={css.locked}>
      {error !== null && <ProblemBanner error={error} />}
      <Empty title="This tab has no key">
        <p>
          Cellwright opens with an address that works once. Run <code>cellwright serve</code> in a terminal, or{" "}
          <code>cellwright serve url</code> if it is running, and open what it prints.
        </p>
      </Empty>
    </main>
  );
}

function Rooms() {
  const [at] = useHashLocation();
  useEffect(listenToKeys, []);
  useEffect(followHouse, []);
  return (
    <Router hook={useHashLocation}>
      <a className={css.skip} href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <div className={css.page}>
        <Bar />
        <main id="main" className={css.main} tabIndex={-1}>
          <Boundary place={at}>
            <Suspense fallback={<Loading />}>
              <Switch>
                <Route path="/">{() => <RunPage run={null} />}</Route>
                <Route path="/runs" component={RunsPage} />
                <Route path="/runs/:run">{({ run }) => <RunPage key={run} run={run} />}</Route>
                <Route path="/runs/:run/detail" component={RunsPage} />
                <Route path="/connections/:name?/:view?/*?" component={ConnectionsPage} />
                <Route path="/dashboards" component={DashboardsPage} />
                <Route path="/settings/:section?" component={SettingsPage} />
                <Route path="/welcome" component={WelcomePage} />
                <Route>
                  <h1 className="visually-hidden">No such page</h1>
                  <Banner tone="warn">
                    There is no such page. <a href="#/">Back to the start</a>
                  </Banner>
                </Route>
              </Switch>
            </Suspense>
          </Boundary>
        </main>
      </div>
      <KeyHelp />
      <Toasts />
    </Router>
  );
}

function skipToMain(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
