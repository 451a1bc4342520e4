import { createMemoryBackend } from "@convoke/engine/memory";
import { type MountOptions, mount } from "@convoke/server";
import { defineAgent } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { useReadServer } from "./a-read-server.ts";

const PATHS = [
  "about",
  "feed",
  "metrics",
  "tasks/x/log",
  "tasks/x/tree",
  "tasks/x?at=1",
  "pushes:test",
  "grants",
  "grants/x",
];

describe("a server that listens on other addresses", () => {
  const server = useReadServer({ host: "0.0.0.0" });

  test("has no read API unless it is switched on, and its lists as before", async () => {
    const statuses = await Promise.all(
      PATHS.map((path) => statusOf(server.fetch("operator", path))),
    );
    expect(statuses).toEqual(PATHS.map(() => 404));
    expect((await server.fetch("operator", "tasks?owner=*")).status).toBe(200);
  });
});

test("an agent in an app has a read API only if the app switches it on", async () => {
  const { statuses: off } = await mounted({});
  const { statuses: on, text } = await mounted({ readApi: true });

  expect(off).toEqual(PATHS.map(() => 404));
  expect(on).toEqual([200, 200, 200, 404, 404, 404, 405, 200, 405]);
  expect(text).toContain("there is no task x");
});

test("a server that measures nothing has no metrics here, either", async () => {
  const { app } = await mounted({ readApi: true, metrics: false });

  expect(await statusOf(app.fetch(new Request("http://localhost/convoke/metrics")))).toBe(404);
});

async function mounted(options: Partial<MountOptions>) {
  const agent = defineAgent({ name: "Guest", description: "Is mounted.", run: async () => "done" });
  const app = await mount(agent, {
    logger: memoryLogger(),
    openBackend: async () => createMemoryBackend(),
    ...options,
  });
  onTestFinished(() => app.close());
  const answer = (path: string): Promise<Response> =>
    app.fetch(new Request(`http://localhost/convoke/${path}`));
  const statuses = await Promise.all(PATHS.map((path) => statusOf(answer(path))));
  return { app, statuses, text: await (await answer("tasks/x/log")).text() };
}

async function statusOf(answering: Promise<Response>): Promise<number> {
  const answer = await answering;
  await answer.body?.cancel();
  return answer.status;
}
