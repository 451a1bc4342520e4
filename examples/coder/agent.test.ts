import { connect, serve } from "convoke";
import { coder } from "convoke/coder";
import { scriptedModel } from "@convoke/runtime/testing";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/start/temporary-folder.ts";
import { succeed } from "../../test/harness/program.ts";
import agent from "./agent.ts";

const PROJECT = fileURLToPath(new URL("project", import.meta.url));

/** A model that looks, runs the test, fixes the mistake and runs the test again. */
const script = () => {
  const runTests = {
    kind: "tool-call",
    toolName: "run_shell",
    input: { command: "node --test" },
  } as const;
  const edits = [{ oldText: "price + count", newText: "price * count" }];
  return scriptedModel([
    { kind: "tool-call", toolName: "read_file", input: { path: "cart.js" } },
    runTests,
    { kind: "tool-call", toolName: "edit_file", input: { path: "cart.js", edits } },
    runTests,
    "cart.js:3 added the count instead of multiplying. The test passes now.",
  ]);
};

test("a model fixes the failing test, with approvals over A2A, and undo takes it back", async () => {
  const folder = temporaryFolder();
  const workspace = join(folder, "project");
  cpSync(PROJECT, workspace, { recursive: true });
  const cart = join(workspace, "cart.js");
  const before = readFileSync(cart, "utf8");
  const model = script();
  const data = join(folder, "data");
  const server = await serve(coder({ workspace, model }), { port: 0, data });
  onTestFinished(() => server.close());
  const remote = await connect(server.url);
  onTestFinished(() => remote.close());

  let answer = await remote.send("The test fails. Fix it.");
  const asked: string[] = [];
  while (answer.question !== undefined) {
    asked.push(answer.question.text);
    answer = await remote.send("approve", { taskId: answer.question.taskId });
  }

  expect(answer.task?.status.state).toBe("completed");
  expect(asked).toHaveLength(3);
  expect(asked[1]).toContain(
    "+  return items.reduce((sum, { price, count }) => sum + price * count, 0);",
  );
  const results = model.requests
    .at(-1)!
    .transcript.flatMap((entry) =>
      entry.role === "tool" ? entry.results.map(({ output }) => output) : [],
    );
  expect(results[1]).toMatchObject({ exitCode: 1 });
  expect(results[3]).toMatchObject({ exitCode: 0 });
  await succeed(process.execPath, ["--test"], { cwd: workspace });

  await remote.send("/undo", { contextId: answer.task!.contextId });

  expect(readFileSync(cart, "utf8")).toBe(before);
});

test("the agent that is served works in the project, without a key", () => {
  expect(agent.info).toMatchObject({ name: "Coder", skills: [{ id: "code_generation" }] });
});
