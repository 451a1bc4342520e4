import { randomUUID } from "node:crypto";
import { type Task, textOf, textOfParts } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aMessage, aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

describe.each(speakersTo(server))("a task over $binding $version", (speaker) => {
  verifies(["v1-S19", "v03-S4"], "is told as it stands", async () => {
    const gate = randomUUID();
    const { id: taskId } = await speaker.sendTask(aRequest(`wait ${gate}`, { blocking: false }));

    await expect.poll(async () => textOf(await speaker.get({ taskId }))).toBe("waiting ");
    const working = await speaker.get({ taskId });
    gateOf(gate).open();
    await expect.poll(async () => (await speaker.get({ taskId })).status.state).toBe("completed");

    expect(working.status.state).toBe("working");
    expect(textOf(await speaker.get({ taskId }))).toBe("waiting and done");
  });

  verifies(["v1-S20", "v1-S21"], "has as much of its history as was asked for", async () => {
    const task = await aTalk(speaker);
    const whole = said(await speaker.get({ taskId: task.id }));

    for (const historyLength of [1, 2, whole.length, whole.length + 7]) {
      const got = await speaker.get({ taskId: task.id, historyLength });

      expect(said(got)).toEqual(whole.slice(-historyLength));
    }
    expect(whole.filter((text) => text !== "well?")).toEqual(["ask", "yes"]);
  });

  verifies(["v1-S20", "v1-S21"], "has no history where none was asked for", async () => {
    const task = await aTalk(speaker);

    const got = await speaker.get({ taskId: task.id, historyLength: 0 });
    const sent = await speaker.sendTask(aRequest("hello", { historyLength: 0 }));

    // The proto of 0.3 has no way to say "none": there 0 is no limit.
    const isTold = speaker.codec.dialect === "0.3-proto";
    expect([got, sent].map(({ history }) => history !== undefined)).toEqual([isTold, isTold]);
  });

  verifies("v1-S20", "is answered with no more history than the send asked for", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));

    const task = await speaker.sendTask(
      aRequest(aMessage("yes", { taskId }), { historyLength: 1 }),
    );

    expect(task.history).toHaveLength(1);
  });

  verifies(["v1-S19", "v1-S25", "v1-S35"], "that nobody knows is TaskNotFound", async () => {
    const taskId = randomUUID();

    const refusals = await Promise.all([
      refusalOf(speaker.get({ taskId })),
      refusalOf(speaker.cancel({ taskId })),
      refusalOf(speaker.send(aRequest(aMessage("hello", { taskId })))),
      refusalOf(speaker.setPush({ taskId, target: { url: "https://hooks.example.com/" } })),
      refusalOf(speaker.getPush({ taskId, id: "one" })),
      refusalOf(speaker.listPush({ taskId })),
      refusalOf(speaker.deletePush({ taskId, id: "one" })),
    ]);

    expect(refusals.map(({ reason }) => reason)).toEqual(refusals.map(() => "TaskNotFound"));
  });
});

/** A task with several messages in its history. */
async function aTalk(speaker: Speaker): Promise<Task> {
  const { id: taskId } = await speaker.sendTask(aRequest("ask"));
  return speaker.sendTask(aRequest(aMessage("yes", { taskId })));
}

function said({ history = [] }: Task): readonly string[] {
  return history.map(({ parts }) => textOfParts(parts));
}
