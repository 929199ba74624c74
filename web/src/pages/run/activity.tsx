import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";

import { Button, Empty, useKeys } from "../../parts";
import { type DraftSection, type Drafts, unrecorded } from "./drafts";
import { type CellNames, EntryRow } from "./entry-row";
import { type Entry, type Story, agentName } from "./story";
import css from "./activity.module.css";

export interface ActivityProps {
  story: Story;
  drafts: Drafts;
  /** Of cells that agents changed, by id. */
  cellNames: CellNames;
  onCell: (cell: string) => void;
  onPlace: (place: "plan" | "changes" | "result") => void;
}

const GUESSES: Record<Entry["body"]["kind"], number> = {
  goal: 60,
  stage: 44,
  plan: 44,
  task: 36,
  thought: 64,
  action: 150,
  cells: 56,
  step: 28,
  question: 56,
  said: 56,
  finding: 46,
  note: 36,
  delivery: 90,
};

const BY_HAND_MS = 500;

/** Everything that happened, the latest at the end; the view stays there until one scrolls up. */
export function Activity({ story, drafts, cellNames, onCell, onPlace }: ActivityProps) {
  const entries = story.entries;
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setIsFollowing] = useState(true);
  const shown = useMemo(() => shownDrafts(story, drafts), [story, drafts]);
  const touchedMs = useRef(0);
  const seen = useRef(entries.length);
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => GUESSES[entries[at]?.body.kind ?? "note"],
    getItemKey: (at) => entries[at]?.id ?? at,
    overscan: 6,
    paddingStart: 8,
    paddingEnd: 12,
  });
  const total = rows.getTotalSize();
  useEffect(() => {
    if (!isFollowing || box.current === null) return;
    box.current.scrollTop = box.current.scrollHeight;
    seen.current = entries.length;
  }, [isFollowing, total, entries, shown]);
  useKeys("Activity", [{ keys: "f", does: "Follow what happens", act: () => setIsFollowing(true) }]);
  useEffect(() => {
    const at = box.current;
    if (at === null || !isFollowing) return;
    const watch = new ResizeObserver(() => {
      at.scrollTop = at.scrollHeight;
    });
    watch.observe(at);
    return () => watch.disconnect();
  }, [isFollowing]);
  const onTouched = () => {
    touchedMs.current = performance.now();
  };
  const onScroll = () => {
    const at = box.current;
    if (at === null) return;
    const isAtEnd = at.scrollHeight - at.scrollTop - at.clientHeight < 40;
    // Rows that grow scroll too: only a person's hand ends the following.
    if (isAtEnd) setIsFollowing(true);
    else if (performance.now() - touchedMs.current < BY_HAND_MS) setIsFollowing(false);
  };
  if (entries.length === 0) return <Empty title="Nothing happened yet">It begins as soon as it is its turn.</Empty>;
  const news = entries.length - seen.current;
  return (
    <div className={css.frame}>
      <div
        ref={box}
        className={css.scroll}
        onWheel={onTouched}
        onTouchMove={onTouched}
        onPointerDown={onTouched}
        onPointerMove={(event) => event.buttons > 0 && onTouched()}
        onKeyDown={onTouched}
        onScroll={onScroll}
        role="log"
        aria-live="off"
        aria-label="What happened"
        tabIndex={0}
      >
        <div className={css.rows} style={{ height: total }}>
          {rows.getVirtualItems().map((row) => {
            const entry = entries[row.index];
            return entry === undefined ? null : (
              <div
                key={row.key}
                ref={rows.measureElement}
                data-index={row.index}
                className={css.row}
                style={{ transform: `translateY(${row.start}px)` }}
              >
                <EntryRow
                  entry={entry}
                  draft={shown.get(entry.id) ?? NOTHING}
                  name={agentName(story, entry.who)}
                  isFirstOfAgent={entries[row.index - 1]?.who !== entry.who}
                  cellNames={cellNames}
                  onCell={onCell}
                  onPlace={onPlace}
                />
              </div>
            );
          })}
        </div>
      </div>
      <NowLine story={story} />
      {!isFollowing && (
        <Button size="small" className={css.follow ?? ""} onClick={() => setIsFollowing(true)}>
          ↓ {news > 0 ? `${news} new` : "Follow"}
        </Button>
      )}
    </div>
  );
}

const NOTHING: readonly DraftSection[] = [];

/** What is being written, by the entry of the thought it belongs to. */
function shownDrafts(story: Story, drafts: Drafts): ReadonlyMap<string, readonly DraftSection[]> {
  const shown = new Map<string, readonly DraftSection[]>();
  for (const draft of Object.values(drafts)) {
    const sections = story.ended === "" ? unrecorded(draft, story.steps[draft.agent]) : NOTHING;
    const entry = story.entries.findLast((each) => each.who === draft.agent && each.body.kind === "thought");
    if (entry !== undefined && sections.length > 0) shown.set(entry.id, sections);
  }
  return shown;
}

/** What each agent is busy with, right now; always as high, so nothing moves. */
function NowLine({ story }: { story: Story }) {
  const busy = Object.entries(story.busy).filter(([, words]) => words !== "");
  const isOver = story.ended !== "" || story.stage === "over";
  const words =
    story.waits !== ""
      ? `waits: ${story.waits}`
      : busy.map(([who, does]) => (who === story.run ? does : `${agentName(story, who)} ${does}`)).join(" · ");
  return (
    <p className={css.now} title={words}>
      {isOver ? "The run is over." : words === "" ? "…" : `${words.charAt(0).toUpperCase()}${words.slice(1)}`}
    </p>
  );
}
