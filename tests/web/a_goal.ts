/** A goal, begun by a program with the TypeScript client. */

import { Client, calls } from "../../clients/typescript/src/index.ts";

const [url, token, goal] = process.argv.slice(2) as [string, string, string];
const begun = await new Client({ url, token }).send(calls.startRun({ goal }));
console.log(begun.run);
