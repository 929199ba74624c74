/** What a program does with the TypeScript client; each line on stdout is what it saw. */

import { Client, calls } from "../../../clients/typescript/src/index.ts";

const [url, token, run, asking] = process.argv.slice(2) as [string, string, string, string];
const client = new Client({ url, token });
const tell = (seen: unknown) => console.log(JSON.stringify(seen));

tell((await client.send(calls.listRuns({ search: "fish", limit: 5 }))).runs.map((each) => each.run));
const begun = await client.send(calls.startRun({ goal: "Count the birds.", notebook: "birds.py", models: ["near:one"] }));
tell((await client.send(calls.showRun(begun.run))).run === begun.run);
const kinds: string[] = [];
for await (const event of client.follow(calls.followRun(run))) {
  if (event.id !== "") kinds.push(event.event);
  if (event.event === "question-asked") break;
}
tell(kinds);
const { questions } = await client.send(calls.listRunQuestions(asking));
tell((await client.send(calls.answerQuestion(questions[0]?.id ?? "", { answer: "yes" }))).says);
tell((await client.send(calls.uploadFile("fish.csv", new Blob(["a,b\n1,2\n"])))).path);
tell((await (await client.download(calls.exportUsage({ days: 1 }))).text()).split(",")[0]);
const outcome = await client.attempt(calls.showRun("nobody"));
tell(outcome.ok ? outcome.answer.run : [outcome.status, outcome.problem.kind]);
const offline = await new Client({ url: "http://127.0.0.1:9", token }).attempt(calls.listRuns());
tell(offline.ok ? "?" : [offline.status, offline.problem.kind]);
