import type { Plan, Task, TaskWork } from "../../api/types";
import { Button, Markdown } from "../../parts";
import { TaskTeam } from "./task-team";
import css from "./plan.module.css";

export interface TaskActions {
  isOver: boolean;
  onEdit: (task: Task) => void;
  onDrop: (task: Task) => void;
  onRetry: (task: Task) => void;
  onTake: (task: Task) => void;
  onHandBack: (task: Task) => void;
  /** Who worked on each task, as far as that is known. */
  team: readonly TaskWork[];
}

export interface PlanLookProps extends TaskActions {
  plan: Plan;
  selected: string | null;
  onSelect: (task: string | null) => void;
}

export const TASK_MARKS = { planned: "○", running: "●", done: "✓", failed: "✗", dropped: "–" } as const;

/** The plan, its tasks, and under each what must hold in the end. */
export function PlanTree({ plan, selected, onSelect, ...actions }: PlanLookProps) {
  return (
    <div className={css.tree}>
      <h2 className={css.title}>{plan.title}</h2>
      {plan.deliverable !== "" && <p className={css.soft}>{plan.deliverable}</p>}
      <ul className={css.tasks}>
        {plan.tasks.map((task) => (
          <li key={task.id} className={css.task} data-status={task.status}>
            <button
              type="button"
              className={css.taskButton}
              aria-expanded={selected === task.id}
              onClick={() => onSelect(selected === task.id ? null : task.id)}
            >
              <span className={css.mark} aria-hidden="true">
                {TASK_MARKS[task.status]}
              </span>
              <span className={css.taskTitle}>{task.title}</span>
              <span className={css.taskState}>{stateOf(task)}</span>
            </button>
            {selected === task.id ? (
              <TaskDetail task={task} {...actions} />
            ) : (
              task.note !== "" && <p className={css.note}>{task.note}</p>
            )}
          </li>
        ))}
      </ul>
      <Listed title="Assumes" lines={plan.assumptions} />
      <Listed title="Will fetch from" lines={plan.hosts} />
      <Listed title="Will install" lines={plan.packages} />
    </div>
  );
}

function Listed({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section className={css.listed}>
      <h3>{title}</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
}

/** How it stands; of one that a person took, who does it. */
export function stateOf(task: Task): string {
  return task.taken_by === "" || isSettled(task) ? task.status : `${task.taken_by} does it`;
}

function isSettled(task: Task): boolean {
  return task.status === "done" || task.status === "failed" || task.status === "dropped";
}

export function TaskDetail({ task, team, ...actions }: { task: Task } & TaskActions) {
  return (
    <div className={css.detail}>
      {task.todo !== "" && <Markdown text={task.todo} />}
      {task.note !== "" && <p className={css.outcome}>{task.note}</p>}
      {task.checks.length > 0 && (
        <ul className={css.checks} aria-label="Must hold in the end">
          {task.checks.map((check) => (
            <li key={check.test}>
              {check.says} <code>{check.test}</code>
            </li>
          ))}
        </ul>
      )}
      {task.alternatives.length > 0 && (
        <>
          <p className={css.meta}>
            Tried side by side; {task.person_decides ? "you decide which is kept." : "the best by its checks is kept."}
          </p>
          <ul className={css.checks} aria-label="Alternatives">
            {task.alternatives.map((each) => (
              <li key={each.name}>
                {each.name}
                {each.todo !== "" && `: ${each.todo}`}
              </li>
            ))}
          </ul>
        </>
      )}
      <p className={css.meta}>
        {task.taken_by === "" ? task.role : task.taken_by} · <code>{task.id}</code>
        {task.after.length > 0 && ` · after ${task.after.join(", ")}`}
      </p>
      <TaskTeam work={team.find((each) => each.task === task.id)} />
      <TaskButtons task={task} {...actions} />
    </div>
  );
}

type TaskButtonsProps = { task: Task } & Omit<TaskActions, "team">;

function TaskButtons({ task, isOver, onEdit, onDrop, onRetry, onTake, onHandBack }: TaskButtonsProps) {
  if (isSettled(task))
    return (
      <div className={css.taskActions}>
        <Button size="small" onClick={() => onRetry(task)}>
          Do it again
        </Button>
      </div>
    );
  if (isOver) return null;
  return (
    <div className={css.taskActions}>
      {task.taken_by === "" ? (
        <Button size="small" onClick={() => onTake(task)}>
          I do this
        </Button>
      ) : (
        <Button size="small" look="primary" onClick={() => onHandBack(task)}>
          Hand it back…
        </Button>
      )}
      <Button size="small" onClick={() => onEdit(task)}>
        Change…
      </Button>
      <Button size="small" look="danger" onClick={() => onDrop(task)}>
        Drop…
      </Button>
    </div>
  );
}
