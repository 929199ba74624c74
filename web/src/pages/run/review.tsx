import { useState } from "react";

import { calls, problemOf, request } from "../../api/client";
import type { DataQuestion, RunFinding, ShownFinding } from "../../api/types";
import { Button, Python, StatusDot } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { countWords, inOrder, shownWords, standingWord } from "./review-words";
import css from "./review.module.css";

/** What was found when it was looked over; nothing where nobody found anything to say. */
export function Review({ followed, isOver }: { followed: FollowedRun; isOver: boolean }) {
  const { run, story, detail } = followed;
  const told = Object.values(story.findings);
  // Of a long run, the API tells it before the stream comes to it.
  const findings = inOrder(told.length > 0 ? told : (detail?.findings ?? []));
  const questions = story.dataQuestions.length > 0 ? story.dataQuestions : (detail?.data_questions ?? []);
  const opinion = (story.delivery ?? detail?.delivery)?.second_opinion ?? "";
  if (findings.length === 0 && questions.length === 0 && opinion === "") return null;
  const titles = Object.fromEntries((story.plan?.tasks ?? []).map((task) => [task.id, task.title]));
  return (
    <section className={css.review} aria-label="Review">
      <h2>
        Review <span className={css.soft}>{countWords(findings, isOver)}</span>
      </h2>
      {findings.length > 0 && (
        <ul className={css.findings}>
          {findings.map((finding) => (
            <FindingCard
              key={finding.number}
              run={run}
              finding={finding}
              task={titles[finding.task] ?? finding.task}
              isOver={isOver}
              isLive={detail?.notebook_is_live === true}
            />
          ))}
        </ul>
      )}
      <Raised questions={questions} />
      {opinion !== "" && <p className={css.soft}>{opinion}</p>}
    </section>
  );
}

interface FindingCardProps {
  run: string;
  finding: RunFinding;
  /** The title of the task that was to mend it. */
  task: string;
  isOver: boolean;
  /** Its run has the notebook open. */
  isLive: boolean;
}

function FindingCard({ run, finding, task, isOver, isLive }: FindingCardProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { isBusy, shown, problem, show } = useShow(run, finding.number);
  const by = finding.by === "code" ? "Found by code" : "Found by a reviewer";
  const label = `finding ${finding.number}`;
  const codeWords = isOpen ? "Hide the code" : "The code that shows it";
  return (
    <li className={css.finding} data-standing={finding.standing}>
      <header className={css.head}>
        <h3>{finding.claim}</h3>
        <StatusDot status={finding.standing} word={standingWord(finding.standing, isOver)} />
      </header>
      <p>{finding.found}</p>
      <p className={css.soft}>
        {by}
        {task !== "" && ` · ${finding.standing === "mended" ? "mended by" : "given to"} “${task}”`}
      </p>
      <div className={css.acts}>
        <Button
          size="small"
          aria-label={`Show me: ${label}`}
          isBusy={isBusy}
          onClick={() => {
            setIsOpen(true);
            void show();
          }}
        >
          Show me
        </Button>
        <Button
          look="quiet"
          size="small"
          aria-label={`${codeWords}: ${label}`}
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {codeWords}
        </Button>
      </div>
      {isOpen && <Python code={finding.shows.trimEnd()} />}
      <div role="status" className={css.came} data-standing={shown?.standing}>
        {isBusy && (
          <p className={css.soft}>
            {isLive ? "Runs it in a branch of the notebook…" : "Runs the notebook from scratch, then this in a branch…"}
          </p>
        )}
        {shown !== null && (
          <>
            <p>{shownWords(shown)}</p>
            {shown.error !== "" && <pre>{shown.error}</pre>}
          </>
        )}
        {problem !== null && (
          <p className={css.refused}>
            {problemOf(problem).message} {problemOf(problem).hint}
          </p>
        )}
      </div>
    </li>
  );
}

/** Runs a finding's code when asked to. */
function useShow(run: string, number: number) {
  const [isBusy, setIsBusy] = useState(false);
  const [shown, setShown] = useState<ShownFinding | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const show = async () => {
    setIsBusy(true);
    setShown(null);
    setProblem(null);
    try {
      setShown(await request(calls.showFinding(number, run)));
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };
  return { isBusy, shown, problem, show };
}

function Raised({ questions }: { questions: readonly DataQuestion[] }) {
  if (questions.length === 0) return null;
  const open = questions.filter((each) => each.settled === "");
  const settled = questions.filter((each) => each.settled !== "");
  return (
    <>
      <h3>
        What the data raises{" "}
        <span className={css.soft}>{open.length === 0 ? "all settled" : `${open.length} open`}</span>
      </h3>
      <ul className={css.questions}>
        {[...open, ...settled].map((each) => (
          <li key={`${each.kind} ${each.says}`} data-open={each.settled === ""}>
            <span aria-hidden="true">{each.settled === "" ? "?" : "✓"}</span>
            <span>
              <span className="visually-hidden">{each.settled === "" ? "Open: " : "Settled: "}</span>
              {each.says} {each.settled !== "" && <span className={css.soft}>{each.settled}</span>}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
