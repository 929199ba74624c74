// How a run's journal is put into words. Pure.

const TOOLS: Readonly<Record<string, string>> = {
  apply: "Edits cells",
  run: "Runs cells",
  undo: "Takes a change back",
  look: "Looks at the notebook",
  profile: "Profiles data",
  query: "Asks a database",
  schema: "Looks at a database",
  sample: "Looks at rows",
  write: "Changes a database",
  send: "Sends a change",
  compare: "Compares results",
  read_file: "Reads a file",
  write_file: "Writes a file",
  edit_file: "Edits a file",
  search_files: "Searches files",
  list_files: "Lists files",
  install_package: "Installs a package",
  shell: "Runs a program",
  read_web_page: "Reads a web page",
  look_attached: "Looks at the attached notebook",
  apply_attached: "Changes the attached notebook",
  run_attached: "Runs cells of the attached notebook",
  undo_attached: "Takes back a change of the attached notebook",
  run_in_kernel: "Runs code in another kernel",
  restart_kernel: "Starts another kernel anew",
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
  review: "Looks it over",
  deliver: "Delivers",
};

export function capital(words: string): string {
  return words === "" ? "" : words.charAt(0).toUpperCase() + words.slice(1);
}
