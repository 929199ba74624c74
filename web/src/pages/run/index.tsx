import { NewGoal } from "./new-goal";
import { RunView } from "./run-view";

/** One run, or the box for a new goal. */
export default function RunPage({ run }: { run: string | null }) {
  return run === null ? <NewGoal /> : <RunView run={run} />;
}
