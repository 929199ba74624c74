import { useEffect, useRef, useState } from "react";

import { calls, request } from "../../api/client";
import type { Answer, Question } from "../../api/types";
import { tell, tellProblem, useKeys } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { QuestionCard } from "./question-card";
import { type Choice, choicesOf } from "./question-choices";
import css from "./questions.module.css";

/** Where an answer begins, in a question that has its own words. */
function firstIn(card: HTMLElement | null): HTMLElement | null {
  return (
    card?.querySelector<HTMLElement>("form input") ?? card?.querySelector<HTMLElement>("[data-choices] button") ?? null
  );
}

/** What waits for the person: exactly what will happen, and every answer there is. One at a time. */
export function Questions({ followed }: { followed: FollowedRun }) {
  const { detail, story, refresh } = followed;
  const [answered, setAnswered] = useState<readonly string[]>([]);
  const [at, setAt] = useState(0);
  const [armed, setArmed] = useState<Choice | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [isSmall, setIsSmall] = useState(false);
  const card = useRef<HTMLElement>(null);
  const open = (detail?.questions ?? []).filter(
    (question) =>
      question.topic !== "paused" && story.openQuestions.includes(question.id) && !answered.includes(question.id),
  );
  const question = open[Math.min(at, open.length - 1)];
  useEffect(() => {
    setArmed(null);
    setIsSmall(false);
  }, [question?.id]);
  const choices = question === undefined ? [] : choicesOf(question);
  const arm = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    setIsSmall(false);
    setArmed(choice);
    // Once the card is drawn whole again.
    requestAnimationFrame(() => {
      if (choice.needs === "nothing") card.current?.focus();
    });
  };
  const send = async (asked: Question, answer: Answer, words: string) => {
    setIsBusy(true);
    try {
      await request(calls.answerQuestion(asked.id, answer));
      setAnswered((before) => [...before, asked.id]);
      tell(`You said: ${words}.`);
    } catch (error) {
      tellProblem(error);
    } finally {
      setIsBusy(false);
      setArmed(null);
      refresh();
    }
  };
  useKeys(
    "A question",
    question === undefined
      ? []
      : [
          ...choices
            .filter((choice) => choice.key !== "")
            .map((choice) => ({ keys: choice.key, does: `${choice.title} (Enter confirms)`, act: () => arm(choice) })),
          ...(choices.some((choice) => choice.key !== "")
            ? []
            : [{ keys: "y", does: "Go to the question", act: () => firstIn(card.current)?.focus() }]),
          { keys: "q", does: "Next question", act: () => setAt((at + 1) % open.length) },
        ],
  );
  if (question === undefined) return null;
  return (
    <div className={css.dock}>
      <QuestionCard
        ref={card}
        key={question.id}
        question={question}
        choices={choices}
        armed={armed}
        isBusy={isBusy}
        isSmall={isSmall}
        onSmall={setIsSmall}
        place={open.length > 1 ? `${Math.min(at, open.length - 1) + 1} of ${open.length}` : ""}
        onNext={open.length > 1 ? () => setAt((at + 1) % open.length) : null}
        onArm={arm}
        onDisarm={() => setArmed(null)}
        onSend={(answer) => void send(question, answer, armed?.title ?? answer.answer)}
      />
    </div>
  );
}
