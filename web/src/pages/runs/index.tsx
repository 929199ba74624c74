import { useParams } from "wouter";

import { RunDetailPage } from "./run-detail";
import { RunList } from "./run-list";

/** All runs, or everything about one. */
export default function RunsPage() {
  const { run } = useParams<{ run?: string }>();
  return run === undefined ? <RunList /> : <RunDetailPage key={run} run={run} />;
}
