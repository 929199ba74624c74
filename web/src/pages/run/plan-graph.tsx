import { type RefObject, useEffect, useMemo, useRef, useState } from "react";

import type { Task } from "../../api/types";
import { type Edge, GAP_X, NODE_HEIGHT, NODE_WIDTH, layout } from "./graph-layout";
import { type PlanLookProps, TASK_MARKS, TaskDetail, stateOf } from "./plan-tree";
import css from "./plan.module.css";

const AROUND = 32;

/** What waits for what, from the top down; how each stands. */
export function PlanGraph({ plan, selected, shown, onSelect, ...actions }: PlanLookProps & { shown: Task | null }) {
  const frame = useRef<HTMLDivElement>(null);
  const columns = useColumns(frame);
  const drawn = useMemo(() => layout(plan.tasks, columns), [plan.tasks, columns]);
  return (
    <div className={css.graphFrame} ref={frame}>
      <div className={css.graphScroll} tabIndex={0} role="group" aria-label={`Plan: ${plan.title}`}>
        <div className={css.graph} style={{ width: drawn.width, height: drawn.height }}>
          <svg width={drawn.width} height={drawn.height} aria-hidden="true">
            {drawn.edges.map((edge) => (
              <path key={edge.id} d={curve(edge)} className={css.edge} data-status={edge.from.task.status} />
            ))}
          </svg>
          {drawn.nodes.map(({ task, x, y }) => (
            <button
              key={task.id}
              type="button"
              className={css.node}
              data-status={task.status}
              aria-pressed={selected === task.id}
              aria-label={`${task.title}, ${stateOf(task)}${task.after.length > 0 ? `, after ${task.after.join(", ")}` : ""}`}
              style={{ left: x, top: y, width: NODE_WIDTH, height: NODE_HEIGHT }}
              onClick={() => onSelect(selected === task.id ? null : task.id)}
              title={task.title}
            >
              <span className={css.mark} aria-hidden="true">
                {TASK_MARKS[task.status]}
              </span>
              <span className={css.nodeTitle}>{task.title}</span>
            </button>
          ))}
        </div>
      </div>
      {shown !== null && (
        <div className={css.graphDetail}>
          <h2>{shown.title}</h2>
          <TaskDetail task={shown} {...actions} />
        </div>
      )}
    </div>
  );
}

/** How many nodes fit side by side. */
function useColumns(frame: RefObject<HTMLElement | null>): number {
  const [columns, setColumns] = useState(2);
  useEffect(() => {
    const at = frame.current;
    if (at === null) return;
    const watch = new ResizeObserver(() => {
      setColumns(Math.max(1, Math.floor((at.clientWidth - AROUND + GAP_X) / (NODE_WIDTH + GAP_X))));
    });
    watch.observe(at);
    return () => watch.disconnect();
  }, [frame]);
  return columns;
}

function curve({ from, to }: Edge): string {
  const [x1, y1] = [from.x + NODE_WIDTH / 2, from.y + NODE_HEIGHT];
  const [x2, y2] = [to.x + NODE_WIDTH / 2, to.y];
  const bend = Math.max(14, (y2 - y1) / 2);
  return `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}
