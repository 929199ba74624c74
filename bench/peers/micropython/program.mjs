// One program per line of input: a fresh interpreter, one tool, the time it took. `once CODE`: that program, then the end.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const found = createRequire(process.argv[2] + "/").resolve("@micropython/micropython-webassembly-pyscript/micropython.mjs");
const { loadMicroPython } = await import(pathToFileURL(found).href);

async function run(code) {
  const began = performance.now();
  const interpreter = await loadMicroPython({ heapsize: 1 << 20, stdout: () => {} });
  interpreter.registerJsModule("tools", { look: async () => 5 });
  await interpreter.runPythonAsync(code);
  const value = interpreter.globals.get("result");
  return { ms: performance.now() - began, value };
}

if (process.argv[3] === "once") {
  process.stdout.write(JSON.stringify(await run(process.argv[4])) + "\n");
} else {
  process.stdout.write(JSON.stringify({ ready: true }) + "\n");
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await run(JSON.parse(line).code)) + "\n");
  }
}
