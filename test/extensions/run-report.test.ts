import { EXTENSIONS, type Metadata, type Task } from "@convoke/protocol";
import { defineAgent, tool } from "convoke";
import { describe, expect } from "vitest";
import { next, readAll, taskIdIn } from "../conformance/reading.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking } from "./a-listening-speaker.ts";

const { uri } = EXTENSIONS.runReport;

/** How to end the running calls of `wait`. */
const waiting: (() => void)[] = [];

const server = useServer(
  defineAgent({
    name: "Clerk",
    description: "Pays.",
    model: "demo",
    tools: [
      tool({
        name: "pay",
        description: "Pays.",
        inputSchema: { type: "object", properties: { amount: { type: "number" } } },
        confirm: "ask",
        run: () => "paid",
      }),
      tool({
        name: "wait",
        description: "Waits.",
        run: () =>
          new Promise<string>((resolve) => {
            waiting.push(() => resolve("waited"));
          }),
      }),
    ],
  }),
);

/** The report on a task in that state. */
function reportOn({ id, contextId }: Task, taskState: string): Metadata {
  const parameters = (schema: object): object => expect.objectContaining(schema) as object;
  return {
    id,
    contextId,
    taskState,
    model: "demo",
    mcpServers: [],
    availableTools: [
      {
        name: "pay",
        description: "Pays.",
        parameterSchema: parameters({ properties: { amount: { type: "number" } } }),
      },
      { name: "wait", description: "Waits.", parameterSchema: parameters({ type: "object" }) },
    ],
  };
}

describe.each(speakersTo(server))("the run report over $binding $version", (speaker) => {
  const active = asking(speaker, uri).speaker;

  verifies("R54", "is in the task of a caller that activates it, in every state", async () => {
    const stream = active.stream(aRequest("wait()"));
    const submitted = (await next(stream)).event as Task;
    const { id: taskId } = submitted;
    await expect.poll(() => waiting.length, { timeout: 20_000 }).toBe(1);
    const working = await active.get({ taskId });
    waiting.pop()!();
    await readAll(stream);
    const completed = await active.get({ taskId });
    const asked = await active.sendTask(aRequest("pay(amount=3)"));
    const canceled = await active.cancel({ taskId: asked.id });

    expect(submitted.metadata?.["agent"]).toEqual(reportOn(submitted, "submitted"));
    expect(working.metadata?.["agent"]).toEqual(reportOn(submitted, "working"));
    expect(completed.metadata?.["agent"]).toEqual(reportOn(submitted, "completed"));
    expect(asked.metadata?.["agent"]).toEqual(reportOn(asked, "input-required"));
    expect(canceled.metadata?.["agent"]).toEqual(reportOn(asked, "canceled"));
  });

  verifies("R54", "is not in the task of another caller", async () => {
    const told = await readAll(speaker.stream(aRequest("count to 2")));
    const task = await speaker.get({ taskId: taskIdIn(told) });
    const sent = await speaker.sendTask(aRequest(aMessage("count to 2")));

    for (const one of [told[0]!.event, task, sent]) {
      expect((one as Task).metadata?.["agent"]).toBeUndefined();
    }
  });
});
