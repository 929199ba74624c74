import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";

import { Button, Choices, Empty, Loading, ProblemBanner, dollars, thousands } from "../../parts";
import { type Family, type Line, type Timeline, agentName } from "./timeline";
import { TimelineLine } from "./timeline-line";
import type { Told } from "./use-timeline";
import css from "./timeline.module.css";

type Show = "story" | "agent" | "cell" | "person" | "trouble" | "everything";

const SHOWS: readonly { id: Show; title: string }[] = [
  { id: "story", title: "Story" },
  { id: "agent", title: "Agents" },
  { id: "cell", title: "Cells" },
  { id: "person", title: "People" },
  { id: "trouble", title: "Trouble" },
  { id: "everything", title: "Everything" },
];
const LINE_PX = 52;
const STORY: ReadonlySet<Family> = new Set(["milestone", "agent", "cell", "person", "trouble"]);

/** What happened, when, by whom, with which model, for how much. */
export function TimelineView({ told, isLive }: { told: Told; isLive: boolean }) {
  const [show, setShow] = useState<Show>("story");
  const { timeline } = told;
  const lines = useMemo(() => timeline.lines.filter((line) => isShown(line, show)), [timeline, show]);
  const counts = useMemo(() => timeline.lines.filter((line) => line.family === "trouble").length, [timeline]);
  const shows = SHOWS.map(({ id, title }) => ({
    id,
    title: id === "trouble" && counts > 0 ? <>{title}<span className={css.count}>{counts}</span></> : title,
  }));
  return (
    <div>
      {told.error !== null && <ProblemBanner error={told.error} />}
      <Models timeline={timeline} />
      <div className={css.shows}>
        <Choices label="Which events" look="pills" options={shows} selected={show} onSelect={setShow} />
        <span className={css.total}>{told.isWhole ? `${timeline.last.toLocaleString("en")} events` : "Reading…"}</span>
      </div>
      {lines.length === 0 && (told.isWhole ? <Empty title={nothing(show)} /> : told.error === null && <Loading what="Reading the journal…" />)}
      {lines.length > 0 && <Lines key={show} timeline={timeline} lines={lines} isLive={isLive} />}
    </div>
  );
}

function isShown(line: Line, show: Show): boolean {
  if (show === "everything") return true;
  return show === "story" ? STORY.has(line.family) : line.family === show;
}

function nothing(show: Show): string {
  if (show === "trouble") return "Nothing went wrong";
  return show === "person" ? "Nobody had to step in" : "Nothing was told yet";
}

function Lines({ timeline, lines, isLive }: { timeline: Timeline; lines: readonly Line[]; isLive: boolean }) {
  const list = useRef<HTMLOListElement>(null);
  const [margin, setMargin] = useState(0);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const main = () => document.getElementById("main");
  useLayoutEffect(() => {
    const [box, around] = [list.current?.getBoundingClientRect(), main()?.getBoundingClientRect()];
    if (box !== undefined && around !== undefined) setMargin(box.top - around.top + (main()?.scrollTop ?? 0));
  }, []);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: main,
    estimateSize: () => LINE_PX,
    getItemKey: (at) => lines[at]?.sequence ?? at,
    scrollMargin: margin,
    overscan: 12,
  });
  const toggle = (sequence: number) =>
    setOpened((before) => new Set(before.has(sequence) ? [...before].filter((each) => each !== sequence) : [...before, sequence]));
  return (
    <>
      {lines.length > 40 && (
        <Button size="small" className={css.jump ?? ""} onClick={() => rows.scrollToIndex(lines.length - 1, { align: "end" })}>
          {isLive ? "Newest ↓" : "End ↓"}
        </Button>
      )}
      <ol ref={list} className={css.lines} style={{ height: rows.getTotalSize() }} aria-label="Timeline, the oldest first">
        {rows.getVirtualItems().map((item) => {
          const line = lines[item.index];
          return line === undefined ? null : (
            <li
              key={item.key}
              ref={rows.measureElement}
              data-index={item.index}
              className={css.item}
              style={{ transform: `translateY(${item.start - margin}px)` }}
              aria-setsize={lines.length}
              aria-posinset={item.index + 1}
            >
              <TimelineLine line={line} agent={line.family === "milestone" ? "" : agentName(timeline, line.workflow)} isOpen={opened.has(line.sequence)} onToggle={toggle} />
            </li>
          );
        })}
      </ol>
    </>
  );
}

interface Sum {
  model: string;
  calls: number;
  tokens: number;
  microdollars: number;
  isPriced: boolean;
}

/** Which models were asked, and what each cost. */
function Models({ timeline }: { timeline: Timeline }) {
  const sums = useMemo(() => sumByModel(timeline.lines), [timeline]);
  if (sums.length === 0) return null;
  return (
    <ul className={css.models} aria-label="Models of this run">
      {sums.map((sum) => (
        <li key={sum.model}>
          <b>{sum.model}</b>
          <span>
            {sum.isPriced ? dollars(sum.microdollars) : "price unknown"} · {sum.calls} {sum.calls === 1 ? "call" : "calls"} · {thousands(sum.tokens)} tokens
          </span>
        </li>
      ))}
    </ul>
  );
}

function sumByModel(lines: readonly Line[]): Sum[] {
  const sums = new Map<string, Sum>();
  for (const line of lines) {
    if (line.model === "") continue;
    const before = sums.get(line.model) ?? { model: line.model, calls: 0, tokens: 0, microdollars: 0, isPriced: true };
    sums.set(line.model, {
      ...before,
      calls: before.calls + 1,
      tokens: before.tokens + line.tokens,
      microdollars: before.microdollars + (line.microdollars ?? 0),
      isPriced: before.isPriced && line.microdollars !== null,
    });
  }
  return [...sums.values()].sort((one, other) => other.microdollars - one.microdollars);
}
