// How a run's journal is put into words. Pure.

import { isFields } from "../../parts/answer-words";

const TOOLS: Readonly<Record<string, string>> = {
  apply: "Edits cells",
  run: "Runs cells",
  undo: "Takes a change back",
  look: "Looks at the notebook",
  profile: "Profiles data",
  compare: "Compares results",
  read_file: "Reads a file",
  write_file: "Writes a file",
  edit_file: "Edits a file",
  search_files: "Searches files",
  list_files: "Lists files",
  install_package: "Installs a package",
  shell: "Runs a program",
  read_web_page: "Reads a web page",
  read_skill: "Reads a skill",
  git_commit: "Commits to git",
  ask_person: "Asks a person",
  finish: "Finishes",
};

/** A step is named by what to do; a line tells what is done. */
export function stepWords(verb: string, rest: string): string {
  switch (verb) {
    case "think":
      return "Thinks";
    case "tool":
      return TOOLS[rest] ?? `Uses ${rest.replaceAll("_", " ")}`;
    case "check":
      return "Runs it from scratch";
    case "hear":
      return "Listens for orders";
    case "ask":
      return "Waits for an answer";
    default:
      return `${capital(verb)}s ${rest}`.trim();
  }
}

export const STAGES: Readonly<Record<string, string>> = {
  queued: "Waits for its turn",
  brief: "Reads the data and plans",
  agree: "Agrees on what it may touch",
  build: "Builds",
  check: "Checks everything from scratch",
  deliver: "Delivers",
};

export const PERSON_FACTS: Readonly<Record<string, string>> = {
  "agent-say": "said",
  "agent-stop": "asked to stop",
  "agent-hand-over": "asked to hand over",
  "agent-pause": "paused it",
  "agent-go-on": "let it go on",
};

/** What a person said about one cell's change. */
export function reviewWords(cell: string, said: string): { what: string; detail: string } {
  try {
    const told: unknown = JSON.parse(said);
    if (!isFields(told)) return { what: `Review of ${cell}`, detail: "" };
    const verb = told["verdict"] === "accepted" ? "accepted" : "rejected";
    return { what: `${String(told["by"])} ${verb} the change of ${cell}`, detail: String(told["comment"] ?? "") };
  } catch {
    return { what: `Review of ${cell}`, detail: said };
  }
}

export function capital(words: string): string {
  return words === "" ? "" : words.charAt(0).toUpperCase() + words.slice(1);
}
