import { useState } from "react";

import { calls, request } from "../../api/client";
import type { Change } from "../../api/types";
import {
  Button,
  Dialog,
  Empty,
  Loading,
  ProblemBanner,
  clock,
  redoneWords,
  tell,
  tellProblem,
  undoneWords,
  useFetched,
} from "../../parts";
import css from "./detail.module.css";

/** Take back one change of a run, or all of them; or the last undo. */
export function UndoDialog({ run, onClose, onChanged }: { run: string; onClose: () => void; onChanged: () => void }) {
  const found = useFetched(calls.listChanges(run));
  const [step, setStep] = useState<number | null>(null);
  const [isBusy, setBusy] = useState(false);
  const changes = (found.value?.changes ?? []).toSorted((one, other) => other.number - one.number);
  const canUndo = changes.some((change) => !change.is_undone);
  const act = async (work: () => Promise<string>) => {
    setBusy(true);
    try {
      tell(await work());
      onChanged();
      onClose();
    } catch (error) {
      tellProblem(error);
      setBusy(false);
    }
  };
  const undo = () => act(async () => undoneWords(await request(calls.undoRun(run, { step }))));
  const redo = () => act(async () => redoneWords(await request(calls.redoRun(run))));
  return (
    <Dialog
      title="Undo"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          {found.value?.can_redo && (
            <Button disabled={isBusy} onClick={() => void redo()}>
              Redo the last undo
            </Button>
          )}
          <Button look="primary" isBusy={isBusy} disabled={!canUndo} onClick={() => void undo()}>
            {step === null ? "Undo everything" : `Undo change ${step}`}
          </Button>
        </>
      }
    >
      <p className={css.lead}>Cells go back to what they were. What a person changed since stays theirs, and you are told.</p>
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.isLoading && <Loading />}
      {found.value !== null && changes.length === 0 && <Empty title="This run changed no cells" />}
      {changes.length > 0 && (
        <fieldset className={css.choices}>
          <legend className="visually-hidden">What to take back</legend>
          <label className={css.choice}>
            <input type="radio" name="step" checked={step === null} onChange={() => setStep(null)} />
            <span>Everything this run did</span>
          </label>
          {changes.map((change) => (
            <ChangeChoice key={change.number} change={change} isChosen={step === change.number} onChoose={setStep} />
          ))}
        </fieldset>
      )}
    </Dialog>
  );
}

function ChangeChoice({ change, isChosen, onChoose }: { change: Change; isChosen: boolean; onChoose: (step: number) => void }) {
  const cells = change.cells.map((cell) => `${cell.name || cell.cell} ${cell.kind}`).join(", ");
  return (
    <label className={css.choice}>
      <input type="radio" name="step" disabled={change.is_undone} checked={isChosen} onChange={() => onChoose(change.number)} />
      <span className={change.is_undone ? css.struck : undefined}>
        {change.number}. {cells}
      </span>
      <span className={css.faint}>
        {change.is_undone ? "undone" : change.at_ms === null ? change.agent : clock(change.at_ms)}
      </span>
    </label>
  );
}
