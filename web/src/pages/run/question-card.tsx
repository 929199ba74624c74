import { type FormEvent, type Ref, useId, useState } from "react";

import type { Answer, Question } from "../../api/types";
import { Button, Kbd } from "../../parts";
import { type Choice, answerOf, isEnvelope, isTrust, unitOf } from "./question-choices";
import { QuestionBody } from "./question-body";
import css from "./questions.module.css";

export interface QuestionCardProps {
  question: Question;
  choices: readonly Choice[];
  /** Picked, not yet confirmed. */
  armed: Choice | null;
  isBusy: boolean;
  /** Only its head is shown, to make room. */
  isSmall: boolean;
  onSmall: (isSmall: boolean) => void;
  place: string;
  onNext: (() => void) | null;
  onArm: (choice: Choice) => void;
  onDisarm: () => void;
  onSend: (answer: Answer) => void;
  ref: Ref<HTMLElement>;
}

const TITLES: Record<string, string> = {
  approval: "May it do this?",
  budget: "The cap is reached",
  "agent-question": "An agent asks",
  "branch-choice": "Which branch is kept?",
  "project-trust": "Trust this project?",
  "check-dispute": "Is this test right?",
};

/** One question. A key or a button picks an answer; Enter or the button that appears confirms it. */
export function QuestionCard({
  question,
  choices,
  armed,
  place,
  isSmall,
  onSmall,
  onNext,
  ref,
  ...rest
}: QuestionCardProps) {
  const id = useId();
  return (
    <section
      ref={ref}
      className={isTrust(question) ? css.tall : css.card}
      tabIndex={-1}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key === "Escape") rest.onDisarm();
        if (event.key === "Enter" && event.target === event.currentTarget && armed?.needs === "nothing" && !rest.isBusy)
          rest.onSend(answerOf(question, armed, ""));
      }}
    >
      <header className={css.head}>
        <h2 id={id} title={`Question ${question.id}`}>
          {isEnvelope(question) ? "Agree to the plan?" : (TITLES[question.topic] ?? "A question")}
        </h2>
        {onNext !== null && (
          <Button look="quiet" size="small" onClick={onNext}>
            {place} · next <Kbd>q</Kbd>
          </Button>
        )}
        <Button
          look="quiet"
          size="small"
          aria-expanded={!isSmall}
          aria-label={isSmall ? "Show the question" : "Make it small"}
          onClick={() => onSmall(!isSmall)}
        >
          {isSmall ? "▴" : "▾"}
        </Button>
      </header>
      {!isSmall && <QuestionBody question={question} />}
      {isSmall ? null : choices.length === 0 ? (
        <FreeAnswer question={question} isBusy={rest.isBusy} onSend={rest.onSend} />
      ) : armed === null ? (
        <div className={css.choices} data-choices>
          {choices.map((choice) => (
            <Button
              key={choice.id}
              look={choice.look}
              className={choice.look === "danger" ? (css.apart ?? "") : ""}
              size="small"
              onClick={() => rest.onArm(choice)}
              title={choice.means}
            >
              {choice.title}
              {choice.key !== "" && <kbd className={css.key}>{choice.key}</kbd>}
            </Button>
          ))}
        </div>
      ) : (
        <Confirm key={armed.id} question={question} choice={armed} {...rest} />
      )}
    </section>
  );
}

type ConfirmProps = Pick<QuestionCardProps, "question" | "isBusy" | "onDisarm" | "onSend"> & { choice: Choice };

function Confirm({ question, choice, isBusy, onDisarm, onSend }: ConfirmProps) {
  const [words, setWords] = useState("");
  const isAmount = choice.needs === "amount";
  const isComplete = !isAmount || Number(words) > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete) onSend(answerOf(question, choice, words.trim()));
  };
  return (
    <form className={css.confirm} onSubmit={submit}>
      <p className={css.means}>
        <strong>{choice.title}.</strong> {choice.means}
      </p>
      {choice.needs !== "nothing" && (
        <label className={css.words}>
          <span className="visually-hidden">
            {isAmount ? `Amount in ${unitOf(question)}` : "What the agent should know"}
          </span>
          <input
            value={words}
            onChange={(event) => setWords(event.target.value)}
            inputMode={isAmount ? "decimal" : "text"}
            placeholder={isAmount ? `Amount in ${unitOf(question)}` : "What should the agent know? (optional)"}
            autoFocus
          />
        </label>
      )}
      <Button size="small" onClick={onDisarm}>
        Back
      </Button>
      <Button
        size="small"
        look={choice.look === "danger" ? "danger" : "primary"}
        type="submit"
        isBusy={isBusy}
        disabled={!isComplete}
      >
        Confirm <kbd className={css.key}>↵</kbd>
      </Button>
    </form>
  );
}

function FreeAnswer({ question, isBusy, onSend }: Pick<QuestionCardProps, "question" | "isBusy" | "onSend">) {
  const [words, setWords] = useState("");
  return (
    <form
      className={css.confirm}
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim() !== "")
          onSend({ answer: words.trim(), reach: null, fingerprint: question.fingerprint ?? "", feedback: "" });
      }}
    >
      <label className={css.words}>
        <span className="visually-hidden">Your answer</span>
        <input value={words} onChange={(event) => setWords(event.target.value)} placeholder="Your answer" />
      </label>
      <Button size="small" look="primary" type="submit" isBusy={isBusy} disabled={words.trim() === ""}>
        Answer
      </Button>
    </form>
  );
}
