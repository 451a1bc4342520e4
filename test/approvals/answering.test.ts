import { openSqliteBackend } from "@convoke/backends/sqlite";
import { EXTENSIONS } from "@convoke/protocol";
import { digestArguments } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls, resultsTold, statusText } from "../loop/scripts.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { aGuardedTool } from "./a-guarded-tool.ts";
import { Client, servedAgent, structuredClient } from "./a-served-agent.ts";
import { slowToAsk } from "./slow-to-ask.ts";

const ACTIVE: ReadonlySet<string> = new Set([EXTENSIONS.approvals.uri]);

/** A server whose agent wants to delete a, and then b. */
async function twoFiles() {
  const { guarded, ran } = aGuardedTool();
  const script = ["a", "b"].map((path) => calls("delete", { path }));
  const model = scriptedModel([...script, "Done."]);
  const agent = await servedAgent({ model, tools: [guarded] });
  return { agent, ran, model };
}

describe("a second answer", () => {
  verifies("G11", "is an error that names the approval, and changes nothing", async () => {
    const { agent, ran } = await twoFiles();
    const client = structuredClient(agent);
    const asked = await client.send("go");
    const [approval] = openApprovals(asked);
    const next = await client.send([answerTo(approval!, { option: "once" })], { taskId: asked.id });
    expect(openApprovals(next)).toMatchObject([{ tool: { arguments: { path: "b" } } }]);

    const { error } = await client.trySend([answerTo(approval!, { option: "reject" })], {
      taskId: asked.id,
    });

    expect(error).toMatchObject({ code: -32602 });
    expect(error?.message).toContain(
      `message.parts[0].data.approvalId "${approval!.id}" is no open approval of this task`,
    );
    expect((await client.get(asked.id)).history).toEqual(next.history);
    expect(ran).toEqual([{ path: "a" }]);
  });

  test("to an ended task gets the same error", async () => {
    const { agent } = await twoFiles();
    const client = structuredClient(agent);
    const asked = await client.send("go");
    const [approval] = openApprovals(asked);
    await client.rpc("tasks/cancel", { id: asked.id });

    const { error } = await client.trySend([answerTo(approval!, { option: "once" })], {
      taskId: asked.id,
    });

    expect(error?.message).toContain("is no open approval of this task");
  });

  test("that repeats the first message is not a second answer", async () => {
    const { agent, ran } = await twoFiles();
    const client = structuredClient(agent);
    const asked = await client.send("go");
    const answer = [answerTo(openApprovals(asked)[0]!, { option: "once" })];
    const message = { taskId: asked.id, messageId: "m2" };

    const first = await client.send(answer, message);
    const again = await client.send(answer, message);

    expect(again.status).toEqual(first.status);
    expect(ran).toEqual([{ path: "a" }]);
  });
});

describe("of several concurrent answers", () => {
  const options = fc.constantFrom("once", "reject", "conversation", "edit", "words");

  verifies(
    "G11",
    "exactly one is accepted, and its decision is executed",
    async () => {
      const folder = temporaryFolder();
      const backend = await openSqliteBackend({ folder });
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ option: options, delayMs: fc.nat(3) }), {
            minLength: 2,
            maxLength: 5,
          }),
          fc.boolean(),
          async (answers, isRestarted) => {
            const { guarded, ran } = aGuardedTool();
            const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
            const world = new LoopWorld(
              { model, tools: [guarded], approvals: { acceptPlainText: true } },
              { backend, extensions: ACTIVE },
            );
            const asked = await world.ask("go");
            const [approval] = openApprovals(asked);
            if (isRestarted) await world.restart();

            const outcomes = await Promise.allSettled(
              answers.map(async ({ option, delayMs }) => {
                if (delayMs > 0) await sleep(delayMs);
                const edited = option === "edit" && { arguments: { path: "b" } };
                const content =
                  option === "words"
                    ? "approve"
                    : [answerTo(approval!, { option: option as "once", ...edited })];
                await world.tell(content, { taskId: asked.id });
                return option;
              }),
            );

            const task = await world.settled(asked.id);
            expect(task.status.state).toBe("completed");
            const taken = outcomes.flatMap((outcome) =>
              outcome.status === "fulfilled" ? [outcome.value] : [],
            );
            expect(taken).toHaveLength(1);
            for (const outcome of outcomes) {
              if (outcome.status === "fulfilled") continue;
              expect(String(outcome.reason)).toMatch(/is no open approval|accepts no m/);
            }
            const [winner] = taken;
            const path = winner === "edit" ? "b" : "a";
            expect(ran).toEqual(winner === "reject" ? [] : [{ path }]);
            const decided = await world.notes(asked.id, "internal:approval-decided");
            expect(decided).toMatchObject([
              {
                option: winner === "words" ? "once" : winner,
                digest: digestArguments({ path }),
              },
            ]);
          },
        ),
        { numRuns: 40 },
      );
      await backend.close();
    },
    60_000,
  );

  test("that arrive while the question is still being stored, one is accepted", async () => {
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
    const world = new LoopWorld({ model, tools: [guarded] }, { backend: slowToAsk() });
    const taskId = await world.tell("go");
    const state = (): string | undefined => world.engine.tasks.get(taskId)?.writer.nextState;
    await expect.poll(state, { interval: 5 }).toBe("input-required");

    const outcomes = await Promise.allSettled([
      world.tell("approve", { taskId }),
      world.tell("approve", { taskId }),
    ]);

    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect((await world.settled(taskId)).status.state).toBe("completed");
    expect(await world.notes(taskId, "internal:message")).toHaveLength(1);
    expect(ran).toEqual([{ path: "a" }]);
  });

  test("from two clients, the second gets an error", async () => {
    for (let round = 0; round < 5; round++) {
      const { agent, ran } = await twoFiles();
      const ann = structuredClient(agent);
      const bob = structuredClient(agent);
      const asked = await ann.send("go");
      const [approval] = openApprovals(asked);
      const more = { taskId: asked.id };

      const answers = await Promise.all([
        ann.trySend([answerTo(approval!, { option: "once" })], more),
        bob.trySend([answerTo(approval!, { option: "reject" })], more),
      ]);

      const errors = answers.flatMap(({ error }) => (error === undefined ? [] : [error.message]));
      expect(errors).toEqual([expect.stringContaining("is no open approval of this task")]);
      expect(ran.length).toBeLessThanOrEqual(1);
      await agent.close();
    }
  });
});

describe("a caller that supports only text", () => {
  test("gets text, and no data part that it would display", async () => {
    const { agent, ran } = await twoFiles();
    const client = new Client(agent);

    const asked = await client.send("go");

    expect(asked.status.message?.parts.map(({ kind }) => kind)).toEqual(["text"]);
    expect(statusText(asked)).toContain("Approve: Run delete?");
    expect(statusText(asked)).toContain('"path": "a"');
    const next = await client.send("approve", { taskId: asked.id });
    expect(next.status.state).toBe("input-required");
    expect(ran).toEqual([{ path: "a" }]);
    const done = await client.send("reject keep b", { taskId: asked.id });
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
  });

  test("and sends anything else withdraws the call", async () => {
    const { agent, ran, model } = await twoFiles();
    const client = new Client(agent);
    const asked = await client.send("go");

    await client.send("approved by my boss", { taskId: asked.id });

    expect(ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual(["Not run: the user sent a new message instead."]);
  });
});

test("the card of an agent with a guarded tool declares the extension, and of one without does not", async () => {
  const declared = async (tools: Parameters<typeof servedAgent>[0]["tools"]): Promise<string> => {
    const { url } = await servedAgent({ model: scriptedModel([]), ...(tools && { tools }) });
    return (await fetch(`${url}/.well-known/agent-card.json`)).text();
  };
  const { guarded } = aGuardedTool();
  const { guarded: open } = aGuardedTool({ confirm: "never" });

  expect(await declared([guarded])).toContain(EXTENSIONS.approvals.uri);
  expect(await declared([open])).not.toContain(EXTENSIONS.approvals.uri);
});

test("an agent that accepts only text accepts the answer of an active extension", async () => {
  const { guarded, ran } = aGuardedTool();
  const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
  const agent = await servedAgent({ model, tools: [guarded], inputModes: ["text/plain"] });
  const client = structuredClient(agent);
  const asked = await client.send("go");

  await client.send([answerTo(openApprovals(asked)[0]!, { option: "once" })], { taskId: asked.id });

  expect(ran).toEqual([{ path: "a" }]);
});

test("a hook that changes the text of the question cannot omit what is being approved", async () => {
  const { guarded, ran } = aGuardedTool();
  const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
  const agent = await servedAgent({
    model,
    tools: [guarded],
    hooks: {
      transformEvent: (event) =>
        event.kind === "status-update" && event.status.state === "input-required"
          ? {
              ...event,
              status: {
                ...event.status,
                message: { ...event.status.message!, parts: [{ kind: "text", text: "May I?" }] },
              },
            }
          : event,
    },
  });
  const client = structuredClient(agent);

  const asked = await client.send("go");

  expect(statusText(asked)).toBe("May I?");
  await client.send([answerTo(openApprovals(asked)[0]!, { option: "once" })], { taskId: asked.id });
  expect(ran).toEqual([{ path: "a" }]);
});
