import { type FormEvent, useId, useState } from "react";

import type { PlanEdit, Task } from "../../api/types";
import { Button, Dialog } from "../../parts";
import css from "./plan.module.css";

export interface HandBackDialogProps {
  task: Task;
  onClose: () => void;
  onSend: (edit: PlanEdit) => void;
}

/** A task that a person took: it is done, or an agent is to do it after all. */
export function HandBackDialog({ task, onClose, onSend }: HandBackDialogProps) {
  const [words, setWords] = useState("");
  const form = useId();
  const send = (isDone: boolean) => {
    onSend({ op: "hand-back", task: task.id, is_done: isDone, words: words.trim() });
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send(true);
  };
  return (
    <Dialog
      title={`Hand back “${task.title}”`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button onClick={() => send(false)}>Let an agent do it</Button>
          <Button look="primary" type="submit" form={form}>
            It is done
          </Button>
        </>
      }
    >
      <form id={form} className={css.form} onSubmit={submit}>
        <label>
          What came of it
          <textarea
            value={words}
            onChange={(event) => setWords(event.target.value)}
            rows={4}
            maxLength={8000}
            placeholder="For whoever goes on from it"
            autoFocus
          />
        </label>
      </form>
    </Dialog>
  );
}
