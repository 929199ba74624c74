import { useState } from "react";

import { calls, request } from "../../api/client";
import { useHouse } from "../../house";
import { Banner, Button, Card, tellProblem, useKeys } from "../../parts";
import css from "./welcome.module.css";

/** The tutorial notebook, in marimo's own editor. */
export function Tutorial({ title }: { title: string }) {
  const [address, setAddress] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const problem = useHouse((house) => house.health?.editor_problem ?? "");
  const open = async () => {
    setBusy(true);
    try {
      const { id } = await request(calls.openTutorial());
      const { url } = await request(calls.openEditor(id));
      setAddress(url);
      // The editor shows it while it runs: nobody waits for the end.
      request(calls.runCells(id, { cells: "all" })).catch(tellProblem);
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Three-minute tutorial">
      <p className={css.text}>{title}. You run, change and break cells yourself, and see how the rest follows.</p>
      {problem === "" ? (
        <Button isBusy={isBusy} onClick={() => void open()}>
          Open the tutorial
        </Button>
      ) : (
        <Banner tone="warn">The editor cannot be shown here: {problem}</Banner>
      )}
      {address !== null && <Editor address={address} title={title} onClose={() => setAddress(null)} />}
    </Card>
  );
}

function Editor({ address, title, onClose }: { address: string; title: string; onClose: () => void }) {
  useKeys("Tutorial", [{ keys: "Escape", does: "Close the tutorial", act: onClose }]);
  return (
    <div className={css.over} role="region" aria-label={title}>
      <header className={css.overHead}>
        <b>{title}</b>
        <Button size="small" autoFocus onClick={onClose}>
          Close the tutorial
        </Button>
      </header>
      <iframe
        className={css.editor}
        title={`Editor: ${title}`}
        src={address}
        sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-downloads allow-modals"
        referrerPolicy="no-referrer"
      />
    </div>
  );
}
