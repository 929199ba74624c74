import { useCallback, useEffect, useState } from "react";

import { calls, request } from "../../api/client";
import { useHouse } from "../../house";
import { Banner, Button, Choices, Empty, Loading, ProblemBanner, useKeys } from "../../parts";
import { useTheme } from "../../theme";
import { CellList } from "./cell-list";
import type { FollowedRun } from "./follow-run";
import css from "./notebook.module.css";

export interface NotebookPaneProps {
  followed: FollowedRun;
  selected: string | null;
  onSelect: (cell: string | null) => void;
}

const LOOKS = [
  { id: "editor", title: "Editor" },
  { id: "cells", title: "Cells" },
] as const;
/** Of one that nothing runs in: to open it starts a kernel. */
const LOOKS_OF_CLOSED = [
  { id: "editor", title: "Open live" },
  { id: "cells", title: "Code" },
] as const;
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups allow-downloads allow-modals";

/** The notebook the agents work in: marimo's own editor, from another origin, or a plain list of its cells. */
export function NotebookPane({ followed, selected, onSelect }: NotebookPaneProps) {
  const { run, detail, story } = followed;
  const problem = useHouse((house) => house.health?.editor_problem ?? "");
  const [look, setLook] = useState<"editor" | "cells" | null>(null);
  const path = story.goal?.notebook ?? detail?.notebook ?? "";
  const isLive = detail?.notebook_is_live === true;
  // The editor of a run that is over would start a kernel: only if that is asked for.
  const shown = problem !== "" ? "cells" : (look ?? (isLive ? "editor" : "cells"));
  useKeys(
    "Notebook",
    problem === ""
      ? [{ keys: "e", does: "Editor or cells", act: () => setLook(shown === "editor" ? "cells" : "editor") }]
      : [],
  );
  const isThere = detail !== null && (isLive || story.ended !== "" || story.plan !== null);
  return (
    <section className={css.pane} aria-label="Notebook">
      <header className={css.head}>
        <span className={css.path} title={path}>
          {path.split("/").at(-1) || "notebook"}
        </span>
        <span className={isLive ? css.live : css.still}>
          {isLive ? "live" : shown === "editor" ? "open" : "closed"}
        </span>
        {problem === "" && (
          <div className={css.look}>
            <Choices label="Shown as" options={isLive ? LOOKS : LOOKS_OF_CLOSED} selected={shown} onSelect={setLook} size="small" />
          </div>
        )}
      </header>
      {problem !== "" && (
        <Banner tone="warn">
          The editor cannot be shown here: {problem} Runs and everything else work; the cells are below.
        </Banner>
      )}
      {!isThere ? (
        detail === null ? (
          <Loading />
        ) : (
          <Empty title="No notebook yet">It opens with the run’s first step.</Empty>
        )
      ) : shown === "editor" ? (
        <EditorFrame notebook={run} />
      ) : (
        <CellList notebook={run} mark={`${story.ran} ${story.changes}`} selected={selected} onSelect={onSelect} />
      )}
    </section>
  );
}

function EditorFrame({ notebook }: { notebook: string }) {
  const [address, setAddress] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const isOnline = useHouse((house) => house.connection !== "offline");
  const { isDark } = useTheme();
  const load = useCallback(() => {
    setError(null);
    request(calls.openEditor(notebook)).then(
      ({ url }) => setAddress(url),
      setError,
    );
  }, [notebook]);
  // The address opens once, so a server that came back is asked for another.
  useEffect(() => {
    if (isOnline) load();
  }, [isOnline, load]);
  if (error !== null)
    return (
      <div className={css.problem}>
        <ProblemBanner
          error={error}
          actions={
            <Button size="small" onClick={load}>
              Try again
            </Button>
          }
        />
      </div>
    );
  if (address === null) return <Loading what="Opening the editor…" />;
  return (
    <iframe
      className={css.frame}
      title="marimo editor"
      src={themed(address, isDark)}
      sandbox={SANDBOX}
      referrerPolicy="no-referrer"
      allow="clipboard-write"
    />
  );
}

/** The theme is read when the editor is opened; changing it later must not load it again. */
const themes = new Map<string, string>();

function themed(address: string, isDark: boolean): string {
  const known = themes.get(address);
  if (known !== undefined) return known;
  const url = new URL(address, location.href);
  if (!/^https?:$/.test(url.protocol)) return "about:blank";
  url.searchParams.set("theme", isDark ? "dark" : "light");
  themes.set(address, url.href);
  return url.href;
}
