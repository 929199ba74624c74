import { useState } from "react";

import { calls, request } from "../../api/client";
import type { Plan, PlanEdit, Task } from "../../api/types";
import { Button, Choices, Dialog, Empty, tell, tellProblem } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { HandBackDialog } from "./hand-back-dialog";
import { PlanGraph } from "./plan-graph";
import { PlanTree } from "./plan-tree";
import { TaskDialog } from "./task-dialog";
import css from "./plan.module.css";

const LOOKS = [
  { id: "tree", title: "Tree" },
  { id: "graph", title: "Graph" },
] as const;

/** The plan as a tree or as a graph; a person may change it while it is carried out. */
export function PlanPanel({ followed, isOver }: { followed: FollowedRun; isOver: boolean }) {
  const { plan } = followed.story;
  const [look, setLook] = useState<"tree" | "graph">("tree");
  const [selected, setSelected] = useState<string | null>(null);
  const [edits, setEdits] = useState<Task | "new" | null>(null);
  const [drops, setDrops] = useState<Task | null>(null);
  const [handsBack, setHandsBack] = useState<Task | null>(null);
  const [planned, setPlanned] = useState<Plan | null>(null);
  if (plan === null)
    return <Empty title="No plan yet">The plan appears once the data is read. You can change it then.</Empty>;
  if (planned !== plan && planned !== null) setPlanned(null);

  const send = async (edit: PlanEdit, said: string) => {
    try {
      const wanted =
        edit.op === "retry" ? calls.retryRun(followed.run, { task: edit.task }) : calls.changePlan(followed.run, edit);
      const { run, note } = await request(wanted);
      tell(note || said);
      setPlanned(plan);
      if (run !== followed.run) location.hash = `#/runs/${encodeURIComponent(run)}`;
    } catch (error) {
      tellProblem(error);
    }
  };
  const shown = plan.tasks.find((task) => task.id === selected) ?? null;
  const actions = {
    isOver,
    onEdit: (task: Task) => setEdits(task),
    onDrop: (task: Task) => setDrops(task),
    onRetry: (task: Task) => void send({ op: "retry", task: task.id }, `${task.title} is done again.`),
    onTake: (task: Task) => void send({ op: "take", task: task.id }, `You do “${task.title}”. Hand it back when done.`),
    onHandBack: (task: Task) => setHandsBack(task),
    team: followed.detail?.team ?? [],
  };
  return (
    <div className={css.panel}>
      <div className={css.tools}>
        <Choices label="Shown as" options={LOOKS} selected={look} onSelect={setLook} size="small" />
        <span className={css.pending} aria-live="polite">
          {planned !== null && "Taken up between two tasks…"}
        </span>
        {!isOver && (
          <Button size="small" onClick={() => setEdits("new")}>
            Add a task
          </Button>
        )}
      </div>
      {look === "tree" ? (
        <PlanTree plan={plan} selected={selected} onSelect={setSelected} {...actions} />
      ) : (
        <PlanGraph plan={plan} selected={selected} onSelect={setSelected} shown={shown} {...actions} />
      )}
      {edits !== null && (
        <TaskDialog
          plan={plan}
          task={edits === "new" ? null : edits}
          onClose={() => setEdits(null)}
          onSend={(edit) => void send(edit, "The plan is changed.")}
        />
      )}
      {handsBack !== null && (
        <HandBackDialog
          task={handsBack}
          onClose={() => setHandsBack(null)}
          onSend={(edit) => void send(edit, `${handsBack.title} is handed back.`)}
        />
      )}
      {drops !== null && (
        <Dialog
          title={`Drop “${drops.title}”?`}
          onClose={() => setDrops(null)}
          actions={
            <>
              <Button onClick={() => setDrops(null)}>Keep it</Button>
              <Button
                look="danger"
                onClick={() => {
                  void send({ op: "drop", task: drops.id }, `${drops.title} is dropped.`);
                  setDrops(null);
                }}
              >
                Drop the task
              </Button>
            </>
          }
        >
          <p>
            {drops.status === "running" ? "It is being done; it stops." : "It will not be done."} Tasks after it do
            without it.
          </p>
        </Dialog>
      )}
    </div>
  );
}
