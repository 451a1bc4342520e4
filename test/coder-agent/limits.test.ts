import { coder } from "@convoke/coder";
import { openAgentData } from "@convoke/runtime/agent-data";
import { serve } from "@convoke/server";
import { describe, expect, test } from "vitest";
import { CoderClient } from "../coder-wire/a-coder-client.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { type TestFolder, aFolder, inContext, serveCoder } from "./a-coder.ts";

describe("a coding agent has the limits of its server", () => {
  test.each(["/tasks", "/message/stream", "/executeCommand"])(
    "a body that is too large for %s is rejected with 413",
    async (path) => {
      const client = await serveCoder(aFolder(), { serve: { limits: { bodyBytes: 1000 } } });

      const { status } = await client.post(path, { contextId: "c".repeat(2000) });

      expect(status).toBe(413);
    },
  );

  test("a caller with too many unfinished tasks creates no more, and learns when to try again", async () => {
    const client = await serveCoder(aFolder(), { serve: { limits: { openTasks: 2 } } });

    const statuses: number[] = [];
    for (let count = 1; count <= 2; count++) {
      statuses.push((await client.post("/tasks", {})).status);
    }
    const { status, headers, text } = await client.post("/tasks", {});

    expect(statuses).toEqual([201, 201]);
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(text).toContain("openTasks");
  });
});

test("sessions are listed and continued after a restart, in their mode", async () => {
  const folder = aFolder({ "a.txt": "a" });
  const first = await start(folder);
  await first.client.send(inContext("talk", "list"));
  await first.client.send(inContext("talk", "/mode plan"));
  await first.close();

  const { client, close } = await start(folder);
  const { json } = await client.post("/executeCommand", { command: "sessions list" });
  const task = await client.send(inContext("talk", "/mode"));

  expect((json as { data: readonly object[] }).data).toMatchObject([{ contextId: "talk" }]);
  expect(JSON.stringify(task)).toContain("The mode is plan.");
  await close();
});

async function start({ root, data }: TestFolder) {
  const agent = coder({ workspace: root });
  const logger = memoryLogger();
  const openBackend = () => openAgentData(agent, { data, logger });
  const server = await serve(agent, { port: 0, host: "127.0.0.1", logger, openBackend });
  return {
    client: new CoderClient(server.url.replace(/\/$/, "")),
    close: () => server.close(),
  };
}
