import { type FormEvent, type KeyboardEvent, useState } from "react";
import { useLocation } from "wouter";

import { calls, request } from "../../api/client";
import type { Approve, Effort, NewRun } from "../../api/types";
import { Banner, Button, ProblemBanner, useFetched } from "../../parts";
import { GoalFiles, useGoalFiles } from "./goal-files";
import { GoalNames, attachedIn, namesIn } from "./goal-names";
import { AN_ANSWER, GoalOutcome, forFiles, missing } from "./goal-outcome";
import { GoalPicks } from "./goal-picks";
import { RecentRuns } from "./recent-runs";
import css from "./goal.module.css";

const MODES: { id: Approve; title: string; means: string }[] = [
  { id: "ask", title: "Ask me", means: "You are asked about whatever the rules leave open." },
  { id: "envelope", title: "Agree once", means: "You agree to the plan as a whole; anything beyond it is refused." },
  { id: "never", title: "Never ask", means: "You are not asked; what would need a yes is refused." },
];

const EFFORTS: { id: Effort; title: string; means: string }[] = [
  { id: "quick", title: "Quick", means: "looked over by code alone; costs nothing." },
  { id: "normal", title: "Normal", means: "by a reviewer too where there is reason to; at most a quarter more tokens." },
  { id: "thorough", title: "Thorough", means: "another agent writes tests first; then up to two reviews." },
];

const RESEARCH_EFFORTS: Record<Effort, string> = {
  quick: "read once, citations checked by code alone.",
  normal: "planned once more, and a judge reads every citation.",
  thorough: "planned up to four times, and a judge reads every citation.",
};

/** The box for a new goal, and what ran lately. */
export function NewGoal() {
  const [, go] = useLocation();
  const [words, setWords] = useState("");
  const [outcome, setOutcome] = useState(AN_ANSWER);
  const [model, setModel] = useState("");
  const [budget, setBudget] = useState("");
  const [approve, setApprove] = useState<Approve>("ask");
  const [effort, setEffort] = useState<Effort>("normal");
  const [isPrivate, setIsPrivate] = useState(false);
  const [notebook, setNotebook] = useState("");
  const [connections, setConnections] = useState<readonly string[]>([]);
  const [tools, setTools] = useState<readonly string[]>([]);
  const [context, setContext] = useState("");
  const [kernels, setKernels] = useState("");
  const [attached, setAttached] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const files = useGoalFiles();
  const models = useFetched(calls.listModels());
  const known = useFetched(calls.listConnections({ is_counted: false })).value?.connections ?? [];
  const servers = (useFetched(calls.listToolServers()).value?.servers ?? [])
    .filter((server) => server.tools.some((tool) => tool.standing === "allowed"))
    .map(({ name, place }) => ({ name, leads_to: place }));
  const ready = (models.value?.models ?? []).filter((each) => each.is_ready);
  const hasModel = models.value === null || ready.length > 0;
  const lacks = missing(outcome, files.files.length, hasModel);
  const canStart = words.trim() !== "" && lacks === "" && !isBusy;

  const start = async () => {
    if (!canStart) return;
    setIsBusy(true);
    setError(null);
    try {
      const { data, research, extract } = forFiles(outcome, await files.send());
      const { attach, attach_file } = attachedIn(attached);
      const wanted: NewRun = {
        goal: words.trim(),
        data,
        research,
        extract,
        connections: [...connections],
        tools: [...tools],
        context: namesIn(context),
        kernels: namesIn(kernels),
        attach,
        attach_file,
        models: model === "" ? [] : [model],
        budget_usd: budget.trim() === "" ? null : budget.trim(),
        approve,
        is_private: isPrivate,
        notebook: notebook.trim() === "" ? null : notebook.trim(),
        priority: 0,
        effort,
        depth: "answer",
      };
      const { run } = await request(calls.startRun(wanted));
      go(`/runs/${encodeURIComponent(run)}`);
    } catch (problem) {
      setError(problem);
      setIsBusy(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      void start();
    }
  };
  return (
    <div className={css.page}>
      <div className={css.center}>
        <h1>What do you want to know?</h1>
        <p className={css.lead}>
          Agents write a marimo notebook that answers it, in a sandbox on this machine, and prove that it runs.
        </p>
        <form
          className={css.box}
          data-over={files.isOver}
          {...files.dropProps}
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            void start();
          }}
        >
          <textarea
            className={css.words}
            aria-label="Goal"
            rows={4}
            value={words}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={onKeyDown}
            placeholder="Why did revenue fall in the third quarter?"
            autoFocus
          />
          <GoalOutcome wanted={outcome} onChange={setOutcome} />
          <GoalFiles
            files={files}
            what={outcome.outcome === "answer" ? "data files" : "documents"}
            stores={outcome.outcome === "answer" ? known.filter(({ ways }) => ways.includes("files")).map(({ name }) => name) : []}
          />
          <GoalPicks legend="Connections it may read" known={known} picked={connections} onPick={setConnections} />
          <GoalPicks legend="Tool servers it may call" known={servers} picked={tools} onPick={setTools} />
          <GoalNames
            context={servers.length === 0 ? null : context}
            onContext={setContext}
            kernels={kernels}
            onKernels={setKernels}
            attached={attached}
            onAttached={setAttached}
          />
          <div className={css.options}>
            <label>
              <span>Model</span>
              <select value={model} onChange={(event) => setModel(event.target.value)}>
                <option value="">Automatic</option>
                {ready.map((each) => (
                  <option key={each.name}>{each.name}</option>
                ))}
              </select>
            </label>
            <label>
              <span>Spend at most</span>
              <span className={css.money}>
                $
                <input
                  inputMode="decimal"
                  pattern="\d*(\.\d+)?"
                  value={budget}
                  onChange={(event) => setBudget(event.target.value)}
                  placeholder="none"
                />
              </span>
            </label>
            <label className={css.grow}>
              <span>Notebook</span>
              <input value={notebook} onChange={(event) => setNotebook(event.target.value)} placeholder="a new one" />
            </label>
            <label className={css.effort}>
              <span>Effort</span>
              <select
                value={effort}
                aria-describedby="effort-means"
                onChange={({ target }) => setEffort(EFFORTS.find((each) => each.id === target.value)?.id ?? "normal")}
              >
                {EFFORTS.map((each) => (
                  <option key={each.id} value={each.id}>
                    {each.title}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <p id="effort-means" className={css.means}>
            {EFFORTS.filter((each) => each.id === effort).map(
              ({ id, title, means }) => `${title}: ${outcome.outcome === "research" ? RESEARCH_EFFORTS[id] : means}`,
            )}
          </p>
          <fieldset className={css.modes}>
            <legend className="visually-hidden">Approvals</legend>
            {MODES.map((mode) => (
              <label key={mode.id} data-picked={approve === mode.id}>
                <input
                  type="radio"
                  name="approve"
                  value={mode.id}
                  checked={approve === mode.id}
                  onChange={() => setApprove(mode.id)}
                />
                <strong>{mode.title}</strong>
                <span>{mode.means}</span>
              </label>
            ))}
          </fieldset>
          <div className={css.foot}>
            <label className={css.private}>
              <input type="checkbox" checked={isPrivate} onChange={(event) => setIsPrivate(event.target.checked)} />
              Private: nothing may leave this machine
            </label>
            <span className={css.hint}>Ctrl ↵</span>
            <Button look="primary" type="submit" disabled={!canStart} isBusy={isBusy}>
              Start
            </Button>
          </div>
          {words.trim() !== "" && lacks !== "" && <p className={css.means}>{lacks}</p>}
          {error !== null && <ProblemBanner error={error} />}
        </form>
        {models.value !== null && ready.length === 0 && (
          <Banner tone="info" actions={<a href="#/settings">Connect a model</a>}>
            No model is connected. The built-in analyst answers questions about data files without one; documents are read
            by models.
          </Banner>
        )}
      </div>
      <RecentRuns />
    </div>
  );
}
