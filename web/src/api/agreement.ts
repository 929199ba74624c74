/** The page's shapes against the API's own document: a field the page reads, or sends, that the server does not know
 * is an error of `npm run check`. Types only; nothing of this is loaded. */

import type { components } from "./schema";
import type * as page from "./types";

type Server = components["schemas"];
/** `true`, or the names of the fields that are missing. */
type Knows<Theirs, Ours> = [Exclude<keyof Ours, keyof Theirs>] extends [never]
  ? true
  : Exclude<keyof Ours, keyof Theirs>;
type All<Checks extends Record<string, true>> = Checks;

export type Agreement = All<{
  health: Knows<Server["Health"], page.Health>;
  session: Knows<Server["NewSession"], page.NewSession>;
  token: Knows<Server["TokenLine"], page.Token>;
  newToken: Knows<Server["CreatedToken"], page.NewToken>;
  runLine: Knows<Server["RunLine"], page.RunLine>;
  runPage: Knows<Server["RunLines"], page.RunPage>;
  runDetail: Knows<Server["RunDetail"], page.RunDetail>;
  newRun: Knows<Server["NewRun"], page.NewRun>;
  goal: Knows<Server["Goal"], page.Goal>;
  plan: Knows<Server["Plan"], page.Plan>;
  task: Knows<Server["Plan"]["tasks"][number], page.Task>;
  check: Knows<Server["Plan"]["tasks"][number]["checks"][number], page.Check>;
  delivery: Knows<Server["Delivery"], page.Delivery>;
  question: Knows<Server["AskedQuestion"], page.Question>;
  answer: Knows<Server["AnswerBody"], page.Answer>;
  proof: Knows<Server["ProofShape"], page.Proof>;
  noted: Knows<Server["RunNote"], page.Noted>;
  change: Knows<Server["ChangeShape"], page.Change>;
  cellChange: Knows<Server["CellChangeShape"], page.CellChange>;
  undone: Knows<Server["UndoneShape"], page.Undone>;
  artifact: Knows<Server["Artifact"], page.Artifact>;
  grant: Knows<Server["GrantShape"], page.Grant>;
  recorded: Knows<Server["RecordedEvent"], page.Recorded>;
  timeline: Knows<Server["Timeline"], page.Timeline>;
  notebookLine: Knows<Server["NotebookLine"], page.NotebookLine>;
  notebook: Knows<Server["NotebookDetail"], page.Notebook>;
  notebookCell: Knows<Server["CellShape"], page.NotebookCell>;
  kernel: Knows<Server["KernelLine"], page.Kernel>;
  kernels: Knows<Server["Kernels"], page.Kernels>;
  latency: Knows<Server["Latency"], page.Latency>;
  spentOnDay: Knows<Server["SpentOnDay"], page.Usage["by_day"][number]>;
  spentOnModel: Knows<Server["SpentOnModel"], page.Usage["by_model"][number]>;
  spentOnRun: Knows<Server["SpentOnRun"], page.Usage["by_run"][number]>;
  usage: Knows<Server["Usage"], page.Usage>;
  file: Knows<Server["FileEntry"], page.FileEntry>;
  onboarding: Knows<Server["Onboarding"], page.Onboarding>;
  problem: Knows<Server["Problem"], page.Problem>;
}>;
