import { type FormEvent, useId, useState } from "react";

import type { Plan, PlanEdit, Task } from "../../api/types";
import { Button, Dialog } from "../../parts";
import css from "./plan.module.css";

export interface TaskDialogProps {
  plan: Plan;
  /** null: one more. */
  task: Task | null;
  onClose: () => void;
  onSend: (edit: PlanEdit) => void;
}

/** Another title or another work, or one more task. */
export function TaskDialog({ plan, task, onClose, onSend }: TaskDialogProps) {
  const [title, setTitle] = useState(task?.title ?? "");
  const [todo, setTodo] = useState(task?.todo ?? "");
  const [after, setAfter] = useState<readonly string[]>([]);
  const form = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() === "") return;
    onSend(
      task === null
        ? { op: "add", task: newTask(plan, title.trim(), todo.trim(), after) }
        : { op: "change", task: task.id, title: title.trim(), todo: todo.trim() },
    );
    onClose();
  };
  return (
    <Dialog
      title={task === null ? "Add a task" : "Change the task"}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={form} disabled={title.trim() === ""}>
            {task === null ? "Add it" : "Change it"}
          </Button>
        </>
      }
    >
      <form id={form} className={css.form} onSubmit={submit}>
        <label>
          Title
          <input value={title} onChange={(event) => setTitle(event.target.value)} maxLength={200} required autoFocus />
        </label>
        <label>
          What to do
          <textarea
            value={todo}
            onChange={(event) => setTodo(event.target.value)}
            rows={5}
            placeholder="In your words, for whoever does it"
          />
        </label>
        {task === null && plan.tasks.length > 0 && (
          <fieldset>
            <legend>After</legend>
            {plan.tasks.map((each) => (
              <label key={each.id} className={css.check}>
                <input
                  type="checkbox"
                  checked={after.includes(each.id)}
                  onChange={() =>
                    setAfter(after.includes(each.id) ? after.filter((id) => id !== each.id) : [...after, each.id])
                  }
                />
                {each.title}
              </label>
            ))}
          </fieldset>
        )}
      </form>
    </Dialog>
  );
}

function newTask(plan: Plan, title: string, todo: string, after: readonly string[]): Task {
  const words = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+|-+$/g, "")
    .slice(0, 34)
    .replace(/-+$/, "");
  const base = words === "" ? "task" : words;
  let id = base;
  for (let number = 2; plan.tasks.some((task) => task.id === id); number += 1) id = `${base}-${number}`;
  const empty = { checks: [], alternatives: [], person_decides: false, role: "coder", taken_by: "", note: "" };
  return { id, title, todo, after: [...after], status: "planned", ...empty };
}
