// Lists the source files whose functions run while a served agent answers one `message/stream`:
//
//     node --conditions=@convoke/source scripts/visited-files.ts
//
// Functions are counted by V8 on the thread that serves. A first request warms up what runs once.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineAgent, serve } from "convoke";

const root = join(import.meta.dirname, "..");
const greeter = defineAgent({
  name: "Greeter",
  description: "Greets people by name.",
  async *run({ text }) {
    yield `Hello, ${text}!`;
  },
});

const data = mkdtempSync(join(tmpdir(), "convoke-visited-"));
const session = new Session();
session.connect();
try {
  await using server = await serve(greeter, { port: 0, data });
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await request(server.url, "warm-up");
  await session.post("Profiler.takePreciseCoverage");
  await request(server.url, "counted");
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const visited = result
    .filter(({ url }) => url.startsWith("file:") && !url.includes("/node_modules/"))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && ranges[0]!.count > 0),
    )
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .filter((file) => /^(?:packages|apps)\//.test(file))
    .toSorted();
  for (const file of visited) console.log(file);
  console.log(`\n${visited.length} files`);
} finally {
  rmSync(data, { recursive: true, force: true });
}

/** From another process, so that only the server's functions are counted. */
async function request(url: string, messageId: string): Promise<void> {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "message/stream",
    params: {
      message: { messageId, role: "user", kind: "message", parts: [{ kind: "text", text: "Ann" }] },
    },
  });
  const program = `const response = await fetch(${JSON.stringify(url)}, { method: "POST",
    headers: { "content-type": "application/json" }, body: ${JSON.stringify(body)} });
    if (!(await response.text()).includes("completed")) process.exit(1);`;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" })
    .once("error", reject)
    .once("exit", (code) => (code === 0 ? resolve() : reject(new Error("the request failed"))));
  await promise;
}
