import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { useVirtualizer } from "@tanstack/react-virtual";

import { useHouse } from "../../house";
import { Button, ButtonLink, Empty, Loading, ProblemBanner, isOver } from "../../parts";
import { choose, loadMore, mergeTold, reload, useRunList } from "./list-state";
import { usePageTitle } from "./page-title";
import { useFromTheTop, useIsNarrow, useNow, useRowKeys } from "./row-movement";
import { RunRow } from "./run-row";
import { RunSearch } from "./run-search";
import css from "./runs.module.css";

const ROW_PX = 64;
const NARROW_ROW_PX = 92;
const HEAD_PX = 34;

/** Every run: searched, filtered, live. */
export function RunList() {
  const told = useHouse((house) => house.runs);
  const list = useRunList();
  usePageTitle("Runs");
  useEffect(() => {
    // Coming back, the list is as it was left: the house has told what changed since.
    if (useRunList.getState().isFirst) reload();
  }, []);
  useEffect(() => mergeTold(told), [told, list.isFirst]);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>Runs</h1>
        <ButtonLink href="/">New goal</ButtonLink>
      </header>
      <RunSearch />
      {list.error !== null && <ProblemBanner error={list.error} actions={<Button size="small" onClick={reload}>Try again</Button>} />}
      {list.isFirst ? <Loading what="Reading the journal…" /> : list.runs.length === 0 ? list.error === null && <Nothing /> : <Rows />}
    </div>
  );
}

function Nothing() {
  const { search, filter } = useRunList();
  if (search === "" && filter === "all")
    return (
      <Empty title="No runs yet">
        <p>State a goal, and an agent turns it into a notebook you can trust.</p>
        <p className={css.emptyLinks}>
          <ButtonLink href="/">New goal</ButtonLink>
          <Link href="/welcome">Or try it on our data</Link>
        </p>
      </Empty>
    );
  return (
    <Empty title="Nothing matches">
      <Button onClick={() => choose({ search: "", filter: "all" })}>Show all runs</Button>
    </Empty>
  );
}

function Rows() {
  const { runs, next, search, filter } = useRunList();
  const box = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const nowMs = useNow(runs.some((run) => !isOver(run)));
  const headPx = isNarrow ? 0 : HEAD_PX;
  const rows = useVirtualizer({
    count: runs.length,
    scrollMargin: headPx,
    scrollPaddingStart: headPx,
    getScrollElement: () => box.current,
    estimateSize: () => (isNarrow ? NARROW_ROW_PX : ROW_PX),
    getItemKey: (at) => runs[at]?.run ?? at,
    overscan: 8,
  });
  useEffect(() => rows.measure(), [isNarrow, rows]);
  useFromTheTop(box, `${filter} ${search}`);
  const items = rows.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (next !== null && last >= runs.length - 10) loadMore();
  }, [last, runs.length, next]);
  useRowKeys((at) => rows.scrollToIndex(at, { align: "auto" }), box);
  return (
    <div ref={box} className={css.rows}>
      <div className={css.columns} aria-hidden="true">
        <span>Status</span>
        <span>Goal</span>
        <span>Cost</span>
        <span>Time</span>
        <span>Began</span>
      </div>
      <ul className={css.list} style={{ height: rows.getTotalSize() }} aria-label="Runs, the newest first">
        {items.map((item) => {
          const run = runs[item.index];
          return run === undefined ? null : (
            <RunRow key={item.key} run={run} nowMs={isOver(run) ? 0 : nowMs} at={item.index} count={next === null ? runs.length : -1} top={item.start - headPx} height={item.size} />
          );
        })}
      </ul>
    </div>
  );
}
