import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";

import { type Call, calls, request } from "../../api/client";
import type { Noted, RunDetail } from "../../api/types";
import { Button, ButtonLink, Dialog, isOver, tell, tellProblem } from "../../parts";
import { UndoDialog } from "./undo-dialog";
import css from "./detail.module.css";

type Open = "none" | "retry" | "fork" | "undo";

/** What can still be done about a run. */
export function RunActions({ detail, onChanged }: { detail: RunDetail; onChanged: () => void }) {
  const [open, setOpen] = useState<Open>("none");
  const [isBusy, setBusy] = useState(false);
  const [, go] = useLocation();
  const act = async (call: Call<Noted>) => {
    setBusy(true);
    try {
      const said = await request(call);
      tell(said.note);
      setOpen("none");
      onChanged();
      if (said.run !== detail.run) go(`/runs/${said.run}`);
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const close = () => setOpen("none");
  return (
    <div className={css.actions}>
      <ButtonLink href={`/runs/${detail.run}`}>{isOver(detail) ? "Open the run" : "Watch it"}</ButtonLink>
      {canResume(detail) && (
        <Button isBusy={isBusy && open === "none"} onClick={() => void act(calls.resumeRun(detail.run))}>
          Resume
        </Button>
      )}
      {(detail.plan?.tasks.length ?? 0) > 0 && <Button onClick={() => setOpen("retry")}>Retry…</Button>}
      <Button onClick={() => setOpen("fork")}>Fork…</Button>
      <Button onClick={() => setOpen("undo")}>Undo…</Button>
      {open === "retry" && <RetryDialog detail={detail} isBusy={isBusy} onClose={close} onGo={(again) => void act(calls.retryRun(detail.run, again))} />}
      {open === "fork" && <ForkDialog detail={detail} isBusy={isBusy} onClose={close} onGo={(step) => void act(calls.forkRun(detail.run, { from_step: step }))} />}
      {open === "undo" && <UndoDialog run={detail.run} onClose={close} onChanged={onChanged} />}
    </div>
  );
}

function canResume(detail: RunDetail): boolean {
  return detail.status === "paused" || ["cancelled", "dead"].includes(detail.standing);
}

interface DialogProps<Choice> {
  detail: RunDetail;
  isBusy: boolean;
  onClose: () => void;
  onGo: (choice: Choice) => void;
}

interface Again {
  task: string;
  /** null: as it was. */
  budget_usd: string | null;
}

function RetryDialog({ detail, isBusy, onClose, onGo }: DialogProps<Again>) {
  const tasks = detail.plan?.tasks ?? [];
  const [task, setTask] = useState(tasks.find((each) => each.status === "failed")?.id ?? tasks[0]?.id ?? "");
  const isEnded = isOver(detail);
  const before = detail.goal?.budget_usd ?? null;
  const [cap, setCap] = useState(before ?? "");
  const budget = cap.trim() === "" || cap.trim() === before ? null : cap.trim();
  return (
    <Dialog
      title="Do a task again"
      onClose={onClose}
      actions={<Actions isBusy={isBusy} onClose={onClose} word="Do it again" onGo={() => onGo({ task, budget_usd: budget })} />}
    >
      <p className={css.lead}>
        {isEnded
          ? "The run is over: a new one continues it with this task. What is done stays."
          : "The run does this task again before it goes on. What is done stays."}
      </p>
      <fieldset className={css.choices}>
        <legend className="visually-hidden">Which task</legend>
        {tasks.map((each) => (
          <label key={each.id} className={css.choice}>
            <input type="radio" name="task" checked={each.id === task} onChange={() => setTask(each.id)} />
            <span>{each.title}</span>
            <span className={css.faint}>{each.status}</span>
          </label>
        ))}
      </fieldset>
      {isEnded && before !== null && (
        <label className={css.field}>
          <span>Spend at most (USD)</span>
          <input inputMode="decimal" value={cap} onChange={(event) => setCap(event.target.value)} />
          <span className={css.faint}>The new run’s own cap; what was spent before does not count.</span>
        </label>
      )}
    </Dialog>
  );
}

function ForkDialog({ detail, isBusy, onClose, onGo }: DialogProps<number | null>) {
  const [step, setStep] = useState("");
  const number = step.trim() === "" ? null : Number(step);
  const isWrong = number !== null && (!Number.isInteger(number) || number < 1);
  return (
    <Dialog
      title="Fork this run"
      onClose={onClose}
      actions={<Actions isBusy={isBusy} isDisabled={isWrong} onClose={onClose} word="Fork" onGo={() => onGo(number)} />}
    >
      <p className={css.lead}>
        A new run begins with the steps of this one, and goes on after them.
        {!isOver(detail) && " This run is stopped; everything it has done is kept."}
      </p>
      <label className={css.field}>
        <span>Do again from step</span>
        <input
          type="number"
          min={1}
          inputMode="numeric"
          placeholder={`after the last (${detail.steps})`}
          value={step}
          onChange={(event) => setStep(event.target.value)}
        />
        <span className={css.faint}>Empty: keep every step. The timeline says which step did what.</span>
      </label>
    </Dialog>
  );
}

interface ActionsProps {
  isBusy: boolean;
  isDisabled?: boolean;
  word: ReactNode;
  onClose: () => void;
  onGo: () => void;
}

function Actions({ isBusy, isDisabled = false, word, onClose, onGo }: ActionsProps) {
  return (
    <>
      <Button onClick={onClose}>Leave it</Button>
      <Button look="primary" isBusy={isBusy} disabled={isDisabled} onClick={onGo}>
        {word}
      </Button>
    </>
  );
}
