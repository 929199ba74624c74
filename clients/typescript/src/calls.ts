/** What can be asked: each function gives a call, which a client sends. Made by `make types`. */

import { type Call, type File, type Stream, call, file, stream } from "./call.ts";
import type { components } from "./schema.ts";

type Schemas = components["schemas"];
/** What is left out is as the server has it by itself. */
type Sent<Shape, Needed extends keyof Shape> = Pick<Shape, Needed> & Partial<Omit<Shape, Needed>>;

/** Keep a branch that waits. */
export function acceptBranch(run: string, branch: string): Call<Schemas["BranchDecided"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/branches/${encodeURIComponent(branch)}/accept`);
}

/** Let agents know of what waits, if it is what was shown. */
export function allowServerTools(name: string, body: Schemas["ShownTools"]): Call<Schemas["AllowedTools"]> {
  return call("POST", `/tool-servers/${encodeURIComponent(name)}/allow`, { body });
}

/** Answer; the first answer stands. */
export function answerQuestion(question: string, body: Sent<Schemas["AnswerBody"], "answer">): Call<Schemas["AnswerTaken"]> {
  return call("POST", `/questions/${encodeURIComponent(question)}/answer`, { body });
}

/** Stop at once, for good. */
export function cancelRun(run: string, body: Sent<Schemas["Reason"], never> | undefined = undefined): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/cancel`, { body });
}

/** Another goal; the rest is planned anew. */
export function changeGoal(run: string, body: Schemas["GoalBody"]): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/goal`, { body });
}

/** One task more, one less, or another one; or a person takes one, and hands it back. */
export function changePlan(run: string, body: Schemas["AddTaskBody"] | Sent<Schemas["ChangeTaskBody"], "op" | "task"> | Schemas["DropTaskBody"] | Schemas["RetryTaskBody"] | Schemas["TakeTaskBody"] | Sent<Schemas["HandBackTaskBody"], "op" | "task" | "is_done">): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/plan`, { body });
}

/** Save a notebook and end its kernel. */
export function closeNotebook(id: string): Call<Schemas["Noted"]> {
  return call("DELETE", `/notebooks/${encodeURIComponent(id)}`);
}

/** Files and folders of a bucket or file server, one level of them. */
export function connectionFiles(name: string, query: { path?: string | undefined; search?: string | undefined } = {}): Call<Schemas["StoredListing"]> {
  return call("GET", `/connections/${encodeURIComponent(name)}/files`, { query });
}

/** What an API connection allows, and what its OpenAPI document lists. */
export function connectionOperations(name: string): Call<Schemas["ApiShape"]> {
  return call("GET", `/connections/${encodeURIComponent(name)}/operations`);
}

/** What a table is: columns and what they mean, ranges, gaps, problems; masked columns stay masked. */
export function connectionProfile(name: string, query: { table: string }): Call<Schemas["TableProfileShape"]> {
  return call("GET", `/connections/${encodeURIComponent(name)}/profile`, { query });
}

/** The first rows of a table; masked columns stay masked. */
export function connectionRows(name: string, query: { table: string }): Call<Schemas["RowsShape"]> {
  return call("GET", `/connections/${encodeURIComponent(name)}/rows`, { query });
}

/** Tables with columns and keys. */
export function connectionSchema(name: string, query: { search?: string | undefined; table?: string | undefined; is_fresh?: boolean | undefined } = {}): Call<Schemas["SchemaShape"]> {
  return call("GET", `/connections/${encodeURIComponent(name)}/schema`, { query });
}

/** A new token, shown once. */
export function createToken(body: Sent<Schemas["NewToken"], "name" | "scope">): Call<Schemas["CreatedToken"]> {
  return call("POST", "/tokens", { body });
}

/** Drop a branch that waits. */
export function dropBranch(run: string, branch: string): Call<Schemas["BranchDecided"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/branches/${encodeURIComponent(branch)}/drop`);
}

/** Change cells, run what that affects, and save. */
export function editNotebook(id: string, body: Sent<Schemas["EditsBody"], "edits">): Call<Schemas["Edited"]> {
  return call("POST", `/notebooks/${encodeURIComponent(id)}/edits`, { body });
}

/** Revoke the token that asks. */
export function endSession(): Call<Schemas["RevokedToken"]> {
  return call("DELETE", "/session");
}

/** What this machine can do, and what it lacks. */
export function examineMachine(): Call<Schemas["Findings"]> {
  return call("GET", "/doctor");
}

/** What would be said to an action, and why. */
export function explainRules(body: Schemas["WantedAction"]): Call<Schemas["Why"]> {
  return call("POST", "/rules/why", { body });
}

/** The same sums as CSV. */
export function exportUsage(query: { days?: number | undefined } = {}): File {
  return file("GET", "/usage.csv", { query });
}

/** Runs and questions of the whole house, as server-sent events. */
export function followHouse(): Stream {
  return stream("GET", "/events");
}

/** What happens in a notebook's kernel. */
export function followNotebook(id: string): Stream {
  return stream("GET", `/notebooks/${encodeURIComponent(id)}/events`);
}

/** What happens in a run, as server-sent events; between them, without an id, what its agents are being answered. */
export function followRun(run: string, query: { after?: number | undefined } = {}): Stream {
  return stream("GET", `/runs/${encodeURIComponent(run)}/events`, { query });
}

/** Take a connection and its secrets away; the record of what was sent stays. */
export function forgetConnection(name: string): Call<Schemas["ForgottenShape"]> {
  return call("DELETE", `/connections/${encodeURIComponent(name)}`);
}

/** A new run with the steps of this one. */
export function forkRun(run: string, body: Sent<Schemas["ForkBody"], never> | undefined = undefined): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/fork`, { body });
}

/** Stop what runs. */
export function interruptNotebook(id: string): Call<Schemas["Noted"]> {
  return call("POST", `/notebooks/${encodeURIComponent(id)}/interrupt`);
}

/** What a run made. */
export function listArtifacts(run: string): Call<Schemas["Artifacts"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}/artifacts`);
}

/** What a run tried in branches. */
export function listBranches(run: string): Call<Schemas["Branches"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}/branches`);
}

/** What a run changed, cell by cell. */
export function listChanges(run: string): Call<Schemas["Changes"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}/changes`);
}

/** Databases, file servers and APIs by name, and the kinds there are. */
export function listConnections(query: { is_counted?: boolean | undefined } = {}): Call<Schemas["ConnectionsShape"]> {
  return call("GET", "/connections", { query });
}

/** What lies in the folder that is served. */
export function listFiles(query: { path?: string | undefined } = {}): Call<Schemas["Listing"]> {
  return call("GET", "/files", { query });
}

/** Every yes that still allows something. */
export function listGrants(): Call<Schemas["GrantList"]> {
  return call("GET", "/grants");
}

/** Kernels, the queue, and open questions. */
export function listKernels(): Call<Schemas["Kernels"]> {
  return call("GET", "/kernels");
}

/** Models, their prices, and which are ready. */
export function listModels(): Call<Schemas["ModelsList"]> {
  return call("GET", "/models");
}

/** Open notebooks, and those in the folder. */
export function listNotebooks(): Call<Schemas["Notebooks"]> {
  return call("GET", "/notebooks");
}

/** What waits for an answer. */
export function listQuestions(): Call<Schemas["AskedQuestions"]> {
  return call("GET", "/questions");
}

/** What kinds of agents there are here: ours, and those of the folder that a person has accepted. */
export function listRoles(): Call<Schemas["Roles"]> {
  return call("GET", "/roles");
}

/** Every rule and limit that holds here. */
export function listRules(): Call<Schemas["RulesShape"]> {
  return call("GET", "/rules");
}

/** What one run asks. */
export function listRunQuestions(run: string): Call<Schemas["AskedQuestions"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}/questions`);
}

/** Runs, the newest first. */
export function listRuns(query: { search?: string | undefined; status?: "" | "done" | "partial" | "refused" | "stopped" | "failed" | "waiting" | "paused" | "queued" | "brief" | "agree" | "build" | "check" | "review" | "deliver" | "over" | "running" | "cancelled" | "dead" | undefined; limit?: number | undefined; before?: string | null | undefined } = {}): Call<Schemas["RunLines"]> {
  return call("GET", "/runs", { query });
}

/** What the folder has written down how to do, as far as a person has accepted it. */
export function listSkills(): Call<Schemas["Skills"]> {
  return call("GET", "/skills");
}

/** What was sent through connections and what was refused, the latest first. */
export function listStatements(query: { connection?: string | undefined; run?: string | undefined; most?: number | undefined } = {}): Call<Schemas["StatementsShape"]> {
  return call("GET", "/statements", { query });
}

/** Every token that counts. */
export function listTokens(): Call<Schemas["TokenList"]> {
  return call("GET", "/tokens");
}

/** Servers whose tools agents may call, none asked; and those the folder proposes. */
export function listToolServers(): Call<Schemas["ToolServersShape"]> {
  return call("GET", "/tool-servers");
}

/** What the cells have defined. */
export function listVariables(id: string): Call<Schemas["Variables"]> {
  return call("GET", `/notebooks/${encodeURIComponent(id)}/variables`);
}

/** Ask a server what it says now, beside what was allowed of it. */
export function lookAtToolServer(name: string): Call<Schemas["ToolServerShape"]> {
  return call("POST", `/tool-servers/${encodeURIComponent(name)}/look`);
}

/** Its cells, outcomes and versions as they are now.

    A server on another machine is looked at only if a person kept its token here: `cellwright attach URL --keep-token`.
    . */
export function lookAttached(body: Sent<Schemas["AttachedQuery"], never>): Call<Schemas["AttachedNotebookShape"]> {
  return call("POST", "/attached/look", { body });
}

/** Where the editor of a notebook is, once. */
export function openEditor(id: string): Call<Schemas["EditorAddress"]> {
  return call("POST", `/notebooks/${encodeURIComponent(id)}/editor`);
}

/** Open a notebook with a kernel of its own. */
export function openNotebook(body: Schemas["Place"]): Call<Schemas["NotebookName"]> {
  return call("POST", "/notebooks", { body });
}

/** Write the tutorial notebook and open it. */
export function openTutorial(): Call<Schemas["NotebookName"]> {
  return call("POST", "/onboarding/tutorial");
}

/** Pause before the next step. */
export function pauseRun(run: string, body: Schemas["Nothing"] | undefined = undefined): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/pause`, { body });
}

/** Add or change a connection, and try it at once; its secret is never shown. */
export function putConnection(name: string, body: Sent<Schemas["NewConnection"], "kind">): Call<Schemas["TriedShape"]> {
  return call("PUT", `/connections/${encodeURIComponent(name)}`, { body });
}

/** Name a server, or change one, and ask it at once; its tools wait to be allowed. */
export function putToolServer(name: string, body: Sent<Schemas["NewToolServer"], never>): Call<Schemas["ToolServerShape"]> {
  return call("PUT", `/tool-servers/${encodeURIComponent(name)}`, { body });
}

/** One file of a run. */
export function readArtifact(run: string, name: string, query: { inline?: boolean | undefined } = {}): File {
  return file("GET", `/runs/${encodeURIComponent(run)}/artifacts/${encodeURIComponent(name)}`, { query });
}

/** Whether the door is open. */
export function readHealth(): Call<Schemas["Health"]> {
  return call("GET", "/health");
}

/** What happened in a run, in words; waits for something to happen. */
export function readNews(run: string, query: { after?: number | undefined; wait_seconds?: number | undefined } = {}): Call<Schemas["RunNews"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}/news`, { query });
}

/** A notebook's cells as they stand. */
export function readNotebook(id: string): Call<Schemas["NotebookDetail"]> {
  return call("GET", `/notebooks/${encodeURIComponent(id)}`);
}

/** What a newcomer is offered. */
export function readOnboarding(): Call<Schemas["Onboarding"]> {
  return call("GET", "/onboarding");
}

/** What a run found, as markdown. */
export function readReport(run: string): File {
  return file("GET", `/runs/${encodeURIComponent(run)}/report`);
}

/** Who asks. */
export function readSession(): Call<Schemas["Session"]> {
  return call("GET", "/session");
}

/** Where things are and how code is contained. */
export function readSettings(): Call<Schemas["SettingsShape"]> {
  return call("GET", "/settings");
}

/** What happened in a run. */
export function readTimeline(run: string, query: { after?: number | undefined; limit?: number | undefined } = {}): Call<Schemas["Timeline"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}/timeline`, { query });
}

/** Cost per day, model and run; latency per model. */
export function readUsage(query: { days?: number | undefined } = {}): Call<Schemas["Usage"]> {
  return call("GET", "/usage", { query });
}

/** Take back the last undo. */
export function redoRun(run: string): Call<Schemas["RedoneShape"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/redo`);
}

/** Forget a provider's API key. */
export function removeKey(provider: string): Call<Schemas["RemovedKey"]> {
  return call("DELETE", `/models/keys/${encodeURIComponent(provider)}`);
}

/** Take a server away, with its secrets and what was allowed of it. */
export function removeToolServer(name: string): Call<Schemas["AllowedTools"]> {
  return call("DELETE", `/tool-servers/${encodeURIComponent(name)}`);
}

/** Go on: paused, cancelled or given up. */
export function resumeRun(run: string, body: Schemas["Nothing"] | undefined = undefined): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/resume`, { body });
}

/** Do a task again. */
export function retryRun(run: string, body: Sent<Schemas["RetryBody"], "task">): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/retry`, { body });
}

/** Accept one cell's change, or take it back. */
export function reviewChange(run: string, number: number, cell: string, body: Sent<Schemas["VerdictBody"], "verdict">): Call<Schemas["CellChangeShape"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/changes/${encodeURIComponent(number)}/cells/${encodeURIComponent(cell)}`, { body });
}

/** Take a yes back: it asks again. */
export function revokeGrant(grant: string): Call<Schemas["GrantShape"]> {
  return call("DELETE", `/grants/${encodeURIComponent(grant)}`);
}

/** Let a token not count. */
export function revokeToken(id: string): Call<Schemas["RevokedToken"]> {
  return call("DELETE", `/tokens/${encodeURIComponent(id)}`);
}

/** Run cells and what depends on them. */
export function runCells(id: string, body: Sent<Schemas["WhatToRun"], never>): Call<Schemas["Ran"]> {
  return call("POST", `/notebooks/${encodeURIComponent(id)}/run`, { body });
}

/** Tell its agents something. */
export function sayToRun(run: string, body: Sent<Schemas["SayBody"], "text">): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/say`, { body });
}

/** Keep a provider's API key; it is never shown. */
export function setKey(provider: string, body: Schemas["NewKey"]): Call<Schemas["KeptKey"]> {
  return call("PUT", `/models/keys/${encodeURIComponent(provider)}`, { body });
}

/** Run the code of a finding in a branch of the notebook. */
export function showFinding(number: number, run: string): Call<Schemas["ShownFinding"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/findings/${encodeURIComponent(number)}/show`);
}

/** Everything about one run. */
export function showRun(run: string): Call<Schemas["RunDetail"]> {
  return call("GET", `/runs/${encodeURIComponent(run)}`);
}

/** Begin a run. */
export function startRun(body: Sent<Schemas["NewRun"], "goal">): Call<Schemas["RunName"]> {
  return call("POST", "/runs", { body });
}

/** A token for a start code. */
export function startSession(body: Schemas["StartSession"]): Call<Schemas["NewSession"]> {
  return call("POST", "/session", { body });
}

/** Hand over what there is, before the next step. */
export function stopRun(run: string, body: Sent<Schemas["Reason"], never> | undefined = undefined): Call<Schemas["RunNote"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/stop`, { body });
}

/** What a file behind a connection is, or the data files of a folder; of large ones a part is fetched. */
export function storedFileProfile(name: string, query: { path: string }): Call<Schemas["FileProfileShape"]> {
  return call("GET", `/connections/${encodeURIComponent(name)}/files/profile`, { query });
}

/** Open a connection anew, and say what is wrong if it cannot be. */
export function tryConnection(name: string): Call<Schemas["TriedShape"]> {
  return call("POST", `/connections/${encodeURIComponent(name)}/try`);
}

/** Let the analyst work on a bundled data set. */
export function tryDataset(id: string): Call<Schemas["Begun"]> {
  return call("POST", `/onboarding/${encodeURIComponent(id)}`);
}

/** Take back the last edits that were made here. */
export function undoEdits(id: string, body: Sent<Schemas["UndoEditsBody"], never>): Call<Schemas["Edited"]> {
  return call("POST", `/notebooks/${encodeURIComponent(id)}/undo`, { body });
}

/** Take back one change, or all of them. */
export function undoRun(run: string, body: Sent<Schemas["UndoBody"], never> | undefined = undefined): Call<Schemas["UndoneShape"]> {
  return call("POST", `/runs/${encodeURIComponent(run)}/undo`, { body });
}

/** Put a file into the data folder; a name that is taken gets a number. */
export function uploadFile(name: string, body: Blob): Call<Schemas["KeptFile"]> {
  return call("PUT", `/files/${encodeURIComponent(name)}`, { body });
}
