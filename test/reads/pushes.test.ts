import { expect, test } from "vitest";
import { createPushReceiver } from "convoke";
import { memoryLogger } from "../engine/an-engine.ts";
import { Webhook, answers } from "../push/a-webhook.ts";
import { useReadServer } from "./a-read-server.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const logger = memoryLogger();

const server = useReadServer({
  logger,
  push: {
    allow: ["127.0.0.1"],
    secret: SECRET,
    // Longer than the test: after a failure there is no second attempt.
    backoff: { firstMs: 600_000, longestMs: 600_000 },
  },
});

interface Push {
  readonly taskId: string;
  readonly id: string;
  readonly attempts: readonly { readonly status?: number; readonly problem?: string }[];
  readonly nextAt?: string;
}

interface Pushes {
  readonly pushes: readonly Push[];
  readonly nextPageToken: string;
}

const list = (token: string, query: string): Promise<Pushes> =>
  server.json<Pushes>(token, `pushes?state=active${query}`);

const post = (token: string, path: string, body: object) =>
  server.change(token, "POST", path, body);

/** A waiting task with a push config, which receives only later events. */
async function aPushedTask(token: string, id: string, url: string) {
  const task = await server.start(token);
  const params = { taskId: task.id, pushNotificationConfig: { id, url } };
  const method = "tasks/pushNotificationConfig/set";
  await post(token, "", { jsonrpc: "2.0", id: 1, method, params });
  return task;
}

test("a list of pushes has the last attempts of each config, and when the next one is made", async () => {
  const webhook = await Webhook.start();
  webhook.manner = answers(503);
  const failing = await aPushedTask("ann", "mine", webhook.url);
  await aPushedTask("bob", "his", webhook.url);

  await server.finish("ann", failing);
  await webhook.hasReceived(1);

  const nextAt = async (): Promise<string | undefined> => (await list("ann", "")).pushes[0]?.nextAt;
  await expect.poll(nextAt, { timeout: 20_000 }).toBeDefined();
  const { pushes } = await list("ann", "");
  expect(pushes).toMatchObject([
    {
      taskId: failing.id,
      attempts: [{ status: 503, problem: "the receiver answered 503", at: expect.any(String) }],
    },
  ]);
  expect(Date.parse(pushes[0]!.nextAt!)).toBeGreaterThan(Date.now() + 60_000);
  // He has the same receiver, and made no attempt.
  expect((await list("bob", "")).pushes).toMatchObject([{ id: "his", attempts: [] }]);
});

test("pushes are listed in pages, of the owners that are meant", async () => {
  for (const id of ["a", "b", "c"]) await aPushedTask("ann@acme", id, "http://127.0.0.1:9/hook");
  const ids: string[] = [];
  let pageToken = "";
  do {
    const page = await list("operator@acme", `&owner=*&pageSize=2&pageToken=${pageToken}`);
    expect(page.pushes.length).toBeLessThanOrEqual(2);
    ids.push(...page.pushes.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");

  expect(ids.toSorted()).toEqual(["a", "b", "c"]);
  const wrong = await server.json("operator", "pushes?pageToken=x");
  expect([wrong["status"], JSON.stringify(wrong)]).toEqual([
    400,
    expect.stringContaining("pageToken"),
  ]);
});

test("a test notification is signed like every other, and its outcome is returned and kept", async () => {
  const webhook = await Webhook.start();
  const { id: taskId } = await aPushedTask("ann", "tested", webhook.url);
  const path = "convoke/pushes:test";
  const named = { taskId, id: "tested" };

  const sent = await post("ann", path, named);
  webhook.manner = answers(500);
  const failed = await post("operator", `${path}?owner=*`, named);

  expect(sent).toMatchObject({ code: 200, status: 204, durationMs: expect.any(Number) });
  expect(sent).not.toHaveProperty("problem");
  expect(failed).toMatchObject({ status: 500, problem: "the receiver answered 500" });
  const { headers, body } = webhook.arrivals[0]!;
  const received = await createPushReceiver({ secret: SECRET }).receive({ headers, body });
  expect(received).toMatchObject({ kind: "event", taskId, event: { metadata: { test: true } } });
  const { pushes } = await list("ann", "");
  const attempts = pushes.find(({ id }) => id === "tested")!.attempts;
  expect(attempts.map(({ status }) => status)).toEqual([204, 500]);
  expect(logger.lines.join("\n")).toContain('"push.tested"');
});

test("a test is only for the configs of the caller's own tasks", async () => {
  const { id: taskId } = await aPushedTask("ann", "hers", "http://127.0.0.1:9/hook");
  const path = "convoke/pushes:test";

  expect((await post("bob", path, { taskId, id: "hers" })).code).toBe(404);
  expect((await post("bob", `${path}?owner=*`, { taskId, id: "hers" })).code).toBe(403);
  expect((await post("ann", path, { taskId, id: "other" })).code).toBe(400);
});
