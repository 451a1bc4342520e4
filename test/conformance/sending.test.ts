import { randomUUID } from "node:crypto";
import { textOf, textOfParts } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { readAll } from "./reading.ts";
import { aMessage, aRequest } from "./requests.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());
const replying = useServer(conformanceAgent({ replies: true }));

describe.each(speakersTo(server))("sending over $binding $version", (speaker) => {
  verifies(
    ["v1-S8", "v1-S11", "v1-S38", "v03-S4", "v03-S16"],
    "that waits answers with the ended task and its artifacts",
    async () => {
      const task = await speaker.sendTask(aRequest("count 3"));

      expect(task.status.state).toBe("completed");
      expect(task.artifacts).toHaveLength(1);
      expect(textOf(task)).toBe("1 2 3");
    },
  );

  verifies("v1-S11", "that waits also ends where the caller is asked something", async () => {
    const { status } = await speaker.sendTask(aRequest("ask"));

    expect(status.state).toBe("input-required");
    expect(textOfParts(status.message?.parts ?? [])).toBe("well?");
  });

  verifies(["v1-S12"], "that does not wait answers while the agent works", async () => {
    const gate = randomUUID();

    const task = await speaker.sendTask(aRequest(`wait ${gate}`, { blocking: false }));
    gateOf(gate).open();

    expect(["submitted", "working"]).toContain(task.status.state);
    await expect
      .poll(async () => (await speaker.get({ taskId: task.id })).status.state)
      .toBe("completed");
  });

  verifies("v1-S33", "without a context makes one and says which", async () => {
    const first = await speaker.sendTask(aRequest("hello"));
    const second = await speaker.sendTask(aRequest("hello"));

    expect(first.contextId).not.toBe("");
    expect(second.contextId).not.toBe(first.contextId);
    expect((await speaker.get({ taskId: first.id })).contextId).toBe(first.contextId);
  });

  verifies(
    ["v1-S34", "v1-S35"],
    "with a context keeps it, under a task id of our own",
    async () => {
      const contextId = randomUUID();

      const tasks = [
        await speaker.sendTask(aRequest(aMessage("one", { contextId }))),
        await speaker.sendTask(aRequest(aMessage("two", { contextId }))),
      ];

      expect(tasks.map((task) => task.contextId)).toEqual([contextId, contextId]);
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(2);
    },
  );
});

describe.each(speakersTo(replying))(
  "an answer without a task over $binding $version",
  (speaker) => {
    verifies("v1-S8", "is a message", async () => {
      const answer = await speaker.send(aRequest("reply"));

      expect(answer).toMatchObject({ kind: "message", role: "agent" });
      expect(textOf(answer)).toBe("just so");
    });

    verifies("v1-S14", "is the one event of its stream", async () => {
      const told = await readAll(speaker.stream(aRequest("reply")));

      expect(told.map(({ event }) => event.kind)).toEqual(["message"]);
    });
  },
);
