import { expect, test } from "vitest";
import { useReadServer } from "./a-read-server.ts";

const server = useReadServer();

interface Numbers {
  readonly status: number;
  readonly now: object;
  readonly history: readonly {
    readonly requests: { readonly count: number; readonly p95Ms?: number };
    readonly tasks: { readonly started: number; readonly ended: { readonly completed?: number } };
  }[];
}

test("an operator sees what the server does now, and what has happened", async () => {
  await server.finish("ann", await server.start("ann"));
  await server.start("bob");

  const { now, history, ...rest } = await server.json<Numbers>("operator", "metrics");

  expect(rest).toMatchObject({ status: 200, stepSeconds: 10, uptimeSeconds: expect.any(Number) });
  expect(now).toMatchObject({
    running: 0,
    waiting: 1,
    unfinished: 1,
    byState: { "input-required": 1 },
    push: { pending: 0 },
  });
  // A step may have ended meanwhile.
  const sum = (read: (step: Numbers["history"][number]) => number | undefined): number =>
    history.reduce((total, step) => total + (read(step) ?? 0), 0);
  expect({
    requests: sum(({ requests }) => requests.count),
    started: sum(({ tasks }) => tasks.started),
    completed: sum(({ tasks }) => tasks.ended.completed),
  }).toEqual({ requests: 3, started: 2, completed: 1 });
  expect(sum(({ requests }) => requests.p95Ms)).toBeGreaterThan(0);
});

test("other callers do not", async () => {
  expect((await server.fetch("ann", "metrics")).status).toBe(403);
});
