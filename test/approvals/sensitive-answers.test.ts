import { openSqliteBackend } from "@convoke/backends/sqlite";
import { openRequestsOf } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { Webhook } from "../push/a-webhook.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { aGuardedTool } from "./a-guarded-tool.ts";
import { aLoginTool } from "./a-login-tool.ts";
import { Client, servedAgent } from "./a-served-agent.ts";
import { slowToAsk } from "./slow-to-ask.ts";

const CANARY = "canary-hunter2-canary";

/** The contents of all files in a folder. */
function filesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"))
    .join("\n");
}

describe("a sensitive answer", () => {
  verifies(
    "R60",
    "reaches its tool, but no file, stream, list, push, log, error or model",
    async () => {
      const folder = temporaryFolder();
      const { login, passwords } = aLoginTool();
      const model = scriptedModel([calls("login"), calls("login"), "In."]);
      const webhook = await Webhook.start();
      const agent = await servedAgent(
        { model, tools: [login] },
        { openBackend: () => openSqliteBackend({ folder }), push: { allow: ["127.0.0.1"] } },
      );
      const client = new Client(agent);
      const asked = await client.send("go");
      const taskId = asked.id;
      await client.rpc("tasks/pushNotificationConfig/set", {
        taskId,
        pushNotificationConfig: { url: webhook.url },
      });

      // As text, in an invalid answer, and as data with other fields.
      await client.send(`wrong ${CANARY}`, { taskId });
      const unfit = { kind: "data", data: { requestId: "nothing", value: CANARY } } as const;
      const { error } = await client.trySend([unfit], { taskId, metadata: { copy: CANARY } });
      const data = { requestId: "call_2:password", value: CANARY };
      const frames = await client.stream(
        [
          { kind: "text", text: `it is ${CANARY}` },
          { kind: "data", data },
        ],
        { taskId, messageId: "m9", metadata: { copy: CANARY } },
      );

      expect(passwords).toEqual([`wrong ${CANARY}`, CANARY]);
      expect(frames).toContain('"completed"');
      expect(error?.message).toContain("data.requestId is nothing that this task waits for");
      await client.rpc("tasks/list", {});
      await client.get(taskId);
      await client.call("tasks/resubscribe", { id: taskId });
      await expect.poll(() => JSON.stringify(webhook.bodies)).toContain('"completed"');
      expect(client.heard.join("\n")).not.toContain(CANARY);
      expect(agent.log.join("\n")).not.toContain(CANARY);
      expect(JSON.stringify(webhook.arrivals)).not.toContain(CANARY);
      expect(JSON.stringify(model.requests)).not.toContain(CANARY);
      await agent.close();
      const stored = filesIn(folder);
      expect(stored).toContain("Password?");
      // Only a part of it, because files may share prefixes.
      expect(stored).not.toContain("hunter2");
    },
  );

  verifies(
    ["R60", "G6"],
    "that is sent again joins its task, even if the task has ended and the server restarted",
    async () => {
      const folder = temporaryFolder();
      const { login, passwords } = aLoginTool();
      const model = scriptedModel([calls("login"), "In."]);
      const open = { openBackend: () => openSqliteBackend({ folder }) };
      const first = await servedAgent({ model, tools: [login] }, open);
      const asked = await new Client(first).send("go");
      const answer = { taskId: asked.id, messageId: "m2" };

      const done = await new Client(first).send(CANARY, answer);
      const again = await new Client(first).send(CANARY, answer);
      await first.close();
      const second = await servedAgent({ model, tools: [login] }, open);
      const later = await new Client(second).send(CANARY, answer);

      expect(done.status.state).toBe("completed");
      expect([again.status, later.status]).toEqual([done.status, done.status]);
      expect(passwords).toEqual([CANARY]);
      // Nothing that is stored distinguishes one answer from another, not even a digest.
      expect((await new Client(second).send("another", answer)).status).toEqual(done.status);
      // Another message under its id is still another message.
      const elsewhere = { taskId: asked.id, messageId: asked.history![0]!.messageId };
      const { error } = await new Client(second).trySend("something else", elsewhere);
      expect(error?.message).toContain("message.messageId was used for another message");
    },
  );

  test("reaches a run that is restarted for it", async () => {
    const { login, passwords } = aLoginTool();
    const model = scriptedModel([calls("login"), "In."]);
    const world = new LoopWorld({ model, tools: [login] });
    const asked = await world.ask("go");
    await world.restart();

    const done = await world.ask(CANARY, { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(passwords).toEqual([CANARY]);
    expect(JSON.stringify(await world.events(asked.id))).not.toContain(CANARY);
  });

  test("that arrives while the question is still being stored is not written either", async () => {
    const { login, passwords } = aLoginTool();
    const model = scriptedModel([calls("login"), "In."]);
    const world = new LoopWorld({ model, tools: [login] }, { backend: slowToAsk() });
    const taskId = await world.tell("go");
    const state = (): string | undefined => world.engine.tasks.get(taskId)?.writer.nextState;
    await expect.poll(state, { interval: 5 }).toBe("input-required");

    const done = await world.ask(CANARY, { taskId });

    expect(done.status.state).toBe("completed");
    expect(passwords).toEqual([CANARY]);
    expect(JSON.stringify(await world.events(taskId))).not.toContain(CANARY);
  });

  test("that was accepted, and lost in a crash before it was used, is asked for again", async () => {
    const { login, passwords } = aLoginTool();
    const model = scriptedModel([calls("login"), "In."]);
    const world = new LoopWorld({ model, tools: [login] });
    const asked = await world.ask("go");

    world.dieAfter(1);
    void world.tell(CANARY, { taskId: asked.id }).catch(() => undefined);
    await expect.poll(() => world.isDead).toBe(true);
    await world.atRest();
    expect(await world.restart()).toMatchObject({ resumed: 1 });
    const again = await world.settled(asked.id);

    expect(again.status.state).toBe("input-required");
    expect(openRequestsOf(again).map(({ requestId }) => requestId)).toEqual(["call_1:password"]);
    expect(passwords).toEqual([]);
    const done = await world.ask(CANARY, { taskId: asked.id });
    expect(done.status.state).toBe("completed");
    expect(JSON.stringify(await world.events(asked.id))).not.toContain(CANARY);
  });

  test("is asked for alone, so that text is never treated as a new message", async () => {
    const { login, passwords } = aLoginTool();
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel([[calls("delete", { path: "a" }), calls("login")], "Done."]);
    const world = new LoopWorld({ model, tools: [login, guarded] });
    const asked = await world.ask("go");
    expect(openRequestsOf(asked).map(({ kind }) => kind)).toEqual(["input"]);

    const next = await world.ask(CANARY, { taskId: asked.id });

    expect(passwords).toEqual([CANARY]);
    expect(openRequestsOf(next).map(({ kind }) => kind)).toEqual(["approval"]);
    await world.ask("approve", { taskId: asked.id });
    expect(ran).toEqual([{ path: "a" }]);
    expect(resultsTold(model.requests)).toEqual(["deleted", "logged in with [hidden]"]);
    expect(JSON.stringify(await world.events(asked.id))).not.toContain(CANARY);
  });
});
