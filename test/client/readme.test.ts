import { readFileSync } from "node:fs";
import { createJsonLogger } from "@convoke/engine";
import { connect } from "@convoke/client";
import { serve } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as snippets from "./readme-snippets.ts";
import { worker } from "./worker-agent.ts";

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const lines = (text: string) => text.split("\n").map((line) => line.trim());

test("every line of code in the README of the client is one that runs here", () => {
  const known = ` ${lines(textOf("./readme-snippets.ts")).join("\n")}\n`;
  const blocks = [...textOf("../../packages/client/README.md").matchAll(/```ts\n([^]*?)```/g)];

  expect(blocks.length).toBeGreaterThan(6);
  for (const [, code = ""] of blocks) {
    // Imports are separate in the file, the rest of a block is contiguous.
    const isImport = (line: string) => line.startsWith("import ");
    const body = lines(code.trim()).filter((line) => !isImport(line));
    for (const line of lines(code).filter(isImport)) expect(known).toContain(`${line}\n`);
    expect(known).toContain(`\n${body.join("\n").trim()}\n`);
  }
});

describe("the code in the README of the client", () => {
  let server: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    const logger = createJsonLogger("error", (line) => process.stderr.write(line));
    server = await serve(worker, { port: 0, data: "memory", logger });
  });

  afterAll(() => server.close());

  test("sends and streams", async () => {
    expect(await snippets.send(server.url)).toBe("1 2 3");
    expect(await snippets.stream(server.url)).toBe("1 2 3 4 5");
    expect(await snippets.keep(server.url)).toBe("1 2 3 4 5");
  });

  test("continues a task", async () => {
    const { task } = await (await connect(server.url)).send("count 3");

    expect(await snippets.goOn(server.url, { taskId: task?.id ?? "" })).toBe("completed");
  });

  test("converses", async () => {
    const answers = ["Ann", "York"];

    const text = await snippets.converse(server.url, async () => answers.shift() ?? "");

    expect(text).toBe("Well. Ann of York");
  });

  test("chooses a binding", async () => {
    expect(await snippets.choose(server.url, "secret")).toBe("GRPC");
  });

  test("bridges", async () => {
    const bridge = await snippets.bridge(server.url);
    try {
      expect(await snippets.stream(bridge.url)).toBe("1 2 3 4 5");
    } finally {
      await bridge.close();
    }
  });

  test("distinguishes an error of the agent from an unreachable agent", async () => {
    expect(await snippets.explain(server.url)).toMatch(/^the agent said no: TaskNotFound /);
    expect(await snippets.explain("http://127.0.0.1:1")).toMatch(/^no answer: /);
  });

  test("rejects a notification without valid credentials", async () => {
    expect(await snippets.receive(new Headers(), "{}")).toBe(401);
  });
});
