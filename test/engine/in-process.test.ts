import { type Backend, createInProcessConnection } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import { userMessage } from "@convoke/protocol";
import { defineAgent } from "convoke";
import { expect, test } from "vitest";
import { CALLER, anEngine } from "./an-engine.ts";
import { wrapBackend } from "./wrapped-backend.ts";

/** Its tasks can be found, and the rest of their logs not be read. */
function unreadable(backend: Backend): Backend {
  const lost = Object.assign(new Error("write EPIPE"), { isPermanent: false });
  return {
    ...wrapBackend(backend),
    read: async (taskId, after, limit) => {
      if (after > 0) throw lost;
      return backend.read(taskId, after, limit);
    },
  };
}

test("a stream in this process that cannot read its log ends with 503, and not with the error of the storage", async () => {
  const echo = defineAgent({ name: "echo", description: "Echoes.", run: ({ text }) => text });
  const backend = createMemoryBackend();
  const sent = createInProcessConnection(anEngine(echo, backend), CALLER);
  const task = await sent.call("sendMessage", { message: userMessage("m1", "hi"), blocking: true });
  const connection = createInProcessConnection(anEngine(echo, unreadable(backend)), CALLER);

  const taskId = "status" in task ? task.id : "";
  const stream = connection.stream("subscribeToTask", { taskId }, { lastEventId: "1" });

  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    name: "RemoteError",
    httpStatus: 503,
    message: expect.not.stringContaining("EPIPE"),
  });
});
