import { useState } from "react";

import { calls, problemOf, request } from "../../api/client";
import type { EvidenceCard, ResearchDetail, Task } from "../../api/types";
import { Button } from "../../parts";
import { type FollowedRun, useKeptFresh } from "./follow-run";
import { stateOf } from "./plan-tree";
import css from "./review.module.css";

type Sentence = NonNullable<ResearchDetail["report"]>["sentences"][number];

/** What a research has found, as it comes, and its text: each sentence with the quotes it rests on. */
export function Research({ followed }: { followed: FollowedRun }) {
  const { run, story } = followed;
  const isResearch = story.goal?.wants === "research";
  const { value, refresh } = useKeptFresh(isResearch ? calls.showResearch(run) : null, String(story.researched));
  const [left, setLeft] = useState<string | null>(null);
  if (!isResearch || value === null) return null;
  const reject = async (card: string) => {
    try {
      const came = await request(calls.rejectCard(card, run));
      if (came.run !== run) location.hash = `#/runs/${encodeURIComponent(came.run)}`;
      setLeft(null);
      refresh();
    } catch (error) {
      setLeft(`${problemOf(error).message} ${problemOf(error).hint}`);
    }
  };
  const planned = story.plan?.tasks ?? [];
  const tasks = [...new Set([...planned.map((task) => task.title), ...value.cards.map((card) => card.task)])];
  return (
    <section className={css.review} aria-label="Research">
      <h2>
        Evidence{" "}
        <span className={css.soft}>
          {value.cards.length} cards from {value.sources.length} documents
        </span>
      </h2>
      {left !== null && <p className={css.refused}>{left}</p>}
      <Sentences research={value} />
      {tasks.map((task) => (
        <div key={task}>
          <h3>
            {task} <span className={css.soft}>{progressOf(task, planned)}</span>
          </h3>
          <ul className={css.findings}>
            {value.cards
              .filter((card) => card.task === task)
              .map((card) => (
                <Card
                  key={card.id}
                  card={card}
                  isRejected={value.rejected.includes(card.id)}
                  onReject={() => void reject(card.id)}
                />
              ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function progressOf(title: string, tasks: readonly Task[]): string {
  const task = tasks.find((each) => each.title === title);
  return task === undefined ? "" : stateOf(task);
}

function Card({ card, isRejected, onReject }: { card: EvidenceCard; isRejected: boolean; onReject: () => void }) {
  return (
    <li className={css.finding}>
      <p>{card.says}</p>
      <Quote card={card} />
      <div className={css.acts}>
        {isRejected ? (
          <span className={css.soft}>Left out</span>
        ) : (
          <Button look="quiet" size="small" aria-label={`Leave out: ${card.says}`} onClick={onReject}>
            Leave out
          </Button>
        )}
      </div>
    </li>
  );
}

function Quote({ card }: { card: EvidenceCard }) {
  return (
    <p className={css.soft}>
      {card.name}, p. {card.page}: <q>{card.quote}</q>
    </p>
  );
}

function Sentences({ research }: { research: ResearchDetail }) {
  const [open, setOpen] = useState<number | null>(null);
  const cards = new Map(research.cards.map((card) => [card.id, card]));
  const sentences = research.report?.sentences ?? [];
  if (sentences.length === 0) return null;
  return (
    <ul className={css.findings}>
      {sentences.map((sentence, place) => (
        // Sentences may be said twice: their place is what tells them apart.
        // oxlint-disable-next-line react/no-array-index-key
        <li key={place} className={css.finding} data-standing={isBad(sentence) ? "shown" : "mended"}>
          <Button look="quiet" size="small" aria-expanded={open === place} onClick={() => setOpen(open === place ? null : place)}>
            {sentence.text}
          </Button>
          {open === place && (
            <>
              {sentence.cards.map((id) => {
                const card = cards.get(id);
                return card === undefined ? null : <Quote key={id} card={card} />;
              })}
              <p className={css.soft}>{standingWords(sentence)}</p>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function isBad(sentence: Sentence): boolean {
  return ["uncited figure", "unknown card", "unsupported"].includes(sentence.standing);
}

function standingWords(sentence: Sentence): string {
  switch (sentence.standing) {
    case "holds":
      return "In its quote's own words.";
    case "judged":
      return "A judge found that its quotes show it.";
    case "unjudged":
      return "Its figures stand in its quotes; nobody judged the rest.";
    case "uncited":
      return "It cites nothing.";
    case "uncited figure":
      return `${sentence.missing.join(", ")} stands in no quote it cites.`;
    case "unknown card":
      return "It cites what there is not.";
    case "unsupported":
      return `Its quotes do not show it. ${sentence.why}`;
  }
}
