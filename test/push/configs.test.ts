import { defineAgent } from "convoke";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { aChattyAgent, aPushingServer } from "./a-pushing-server.ts";
import { Webhook } from "./a-webhook.ts";
import { PUSH_DIALECTS, taskIdOf } from "./requests.ts";

const waiting = defineAgent({
  name: "Curious",
  description: "Asks.",
  run: async ({ ask }) => ask("well?"),
});

const HOOK = "https://hooks.example.com/a";

describe.each(PUSH_DIALECTS)("a push config in $version", (dialect) => {
  verifies("R17", "is set, read, listed and deleted as its caller gave it", async () => {
    const { url } = await aPushingServer(waiting);
    const taskId = taskIdOf(await dialect.send(url, { url: HOOK, id: "first" }));
    const target = { id: "second", url: HOOK, token: "t", headers: { "X-Team": "blue" } };

    const set = await dialect.set(url, taskId, target);
    const got = await dialect.get(url, taskId, "second");
    const listed = await dialect.list(url, taskId);
    const removed = await dialect.remove(url, taskId, "second");
    const left = await dialect.list(url, taskId);

    expect(set.result).toMatchObject({
      taskId,
      ...(dialect.version === "0.3" ? { pushNotificationConfig: target } : target),
    });
    expect(got.result).toEqual(set.result);
    expect(configsOf(listed.result)).toHaveLength(2);
    expect(removed.error).toBeUndefined();
    expect(configsOf(left.result)).toHaveLength(1);
    expect((await dialect.get(url, taskId, "second")).error?.code).toBe(-32001);
  });

  test("of an unknown task, or of another caller's, is -32001", async () => {
    const { url } = await aPushingServer(waiting);

    const answers = [
      await dialect.set(url, "nobody", { url: HOOK }),
      await dialect.get(url, "nobody", "x"),
      await dialect.list(url, "nobody"),
      await dialect.remove(url, "nobody", "x"),
    ];

    expect(answers.map(({ error }) => error?.code)).toEqual([-32001, -32001, -32001, -32001]);
  });

  for (const target of [
    "http://127.0.0.1:9/x",
    "http://localhost/x",
    "http://[::1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::ffff:10.0.0.1]/",
    "http://169.254.169.254/latest/meta-data",
    "http://user:secret@hooks.example.com/",
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "not a url",
  ]) {
    verifies(
      ["sdk-p6", "v1-S43"],
      `that would reach ${target} is rejected, and nothing is delivered`,
      async () => {
        const { url } = await aPushingServer(waiting, { allow: [] });
        const taskId = taskIdOf(await dialect.send(url, { url: HOOK, id: "first" }));

        const set = await dialect.set(url, taskId, { url: target });
        const inline = await dialect.send(url, { url: target });

        expect(set.error?.code).toBe(-32602);
        expect(set.error?.message).toContain("url");
        expect(inline.error?.code).toBe(-32602);
        expect(JSON.stringify([set, inline])).not.toContain("secret@");
      },
    );
  }

  verifies(
    "v1-S43",
    "that is not encrypted is accepted with a warning to the operator",
    async () => {
      const { url, log } = await aPushingServer(waiting);
      const taskId = taskIdOf(await dialect.send(url, { url: HOOK }));
      const warnings = (): readonly string[] =>
        log.filter((line) => line.includes("without encryption"));
      expect(warnings()).toEqual([]);

      const set = await dialect.set(url, taskId, { url: "http://hooks.example.com/?key=secret" });

      expect(set.error).toBeUndefined();
      expect(warnings()).toHaveLength(1);
      expect(warnings()[0]).toContain("hooks.example.com");
      expect(log.join()).not.toContain("secret");
    },
  );

  test("beyond the limit per task is rejected with the fix", async () => {
    const { url } = await aPushingServer(waiting, { maxConfigsPerTask: 2 });
    const taskId = taskIdOf(await dialect.send(url, { url: HOOK, id: "a" }));
    await dialect.set(url, taskId, { url: HOOK, id: "b" });

    const third = await dialect.set(url, taskId, { url: HOOK, id: "c" });
    const inline = await dialect.send(url, { url: HOOK, id: "c" }, { taskId });

    expect(third.error?.message).toContain("at most 2 push configs per task; delete one first");
    expect(inline.error?.message).toContain("at most 2 push configs per task");
  });

  test.each([
    ["Host", "elsewhere"],
    ["Content-Length", "0"],
    ["Transfer-Encoding", "chunked"],
    ["X-A", "a\r\nX-B: b"],
  ])("with the header %s: %j is rejected with the name of the header", async (name, value) => {
    const { url } = await aPushingServer(waiting);
    const taskId = taskIdOf(await dialect.send(url, { url: HOOK }));

    const { error } = await dialect.set(url, taskId, { url: HOOK, headers: { [name]: value } });

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain(name);
  });

  test("that is created after the task has ended receives its final status", async () => {
    const webhook = await Webhook.start();
    const first = await Webhook.start();
    const { url } = await aPushingServer(aChattyAgent());
    const taskId = taskIdOf(await dialect.send(url, { url: first.url }));
    await first.hasReceived(5);

    await dialect.set(url, taskId, { url: webhook.url, id: "late" });
    await webhook.hasReceived(1);

    expect(webhook.arrivals).toHaveLength(1);
    expect(webhook.arrivals[0]?.body.toLowerCase()).toContain("completed");
    expect(webhook.arrivals[0]?.body).toContain(taskId);
  });
});

test("dead letters of another caller are neither shown nor replayed", async () => {
  const { url, backend } = await aPushingServer(waiting);
  const config = JSON.stringify({ id: "p", url: HOOK, version: "1.0" });
  const giveUp = async (taskId: string): Promise<void> => {
    await backend.pushes.put(taskId, { id: "p", config, cursor: 0 });
    const dead = { taskId, id: "p", generation: 1, cursor: 0, state: "dead" } as const;
    await backend.pushes.progress({ ...dead, failure: { since: 1, problem: "down" } });
  };
  const foreign = { kind: "task", id: "foreign", contextId: "c", status: { state: "working" } };
  await backend.commit({
    taskId: "foreign",
    create: { owner: "somebody else", contextId: "c", agent: "Curious", createdAt: 1 },
    epoch: 1,
    events: [JSON.stringify(foreign)],
    state: "working",
    statusAt: 1,
    listed: true,
  });
  await giveUp("foreign");
  const own = taskIdOf(await PUSH_DIALECTS[1]!.send(url, { url: HOOK, id: "other" }));
  await giveUp(own);

  const shown = await (await fetch(`${url}convoke/pushes`)).json();
  const replayed = await fetch(`${url}convoke/pushes:replay`, { method: "POST" });

  expect(shown).toMatchObject({ pushes: [{ taskId: own }] });
  expect(await replayed.json()).toEqual({ replayed: 1 });
  expect((await backend.pushes.get("foreign", "p"))?.state).toBe("dead");
});

function configsOf(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? result : (result as { configs: readonly unknown[] }).configs;
}
