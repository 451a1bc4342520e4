import { randomUUID } from "node:crypto";
import { textOf, textOfParts } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { next, outline, readAll, taskIdIn } from "./reading.ts";
import { refusalOf } from "./refusal.ts";
import { aMessage, aRequest } from "./requests.ts";
import { speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent(), { idempotency: "always" });

describe.each(speakersTo(server))("a conversation over $binding $version", (speaker) => {
  verifies("R10", "is rejected while the agent works and accepts no messages", async () => {
    const gate = randomUUID();
    const stream = speaker.stream(aRequest(`wait ${gate}`));
    const begun = [await next(stream), await next(stream)];
    const taskId = taskIdIn(begun);

    const refusal = await refusalOf(speaker.send(aRequest(aMessage("more", { taskId }))));
    gateOf(gate).open();

    expect(refusal.reason).toBe("UnsupportedOperation");
    expect(outline(await readAll(stream)).at(-1)).toBe("status completed");
  });

  verifies(["v1-S58", "v03-S13"], "says what must be authorized", async () => {
    const { id: taskId, status } = await speaker.sendTask(aRequest("authorize"));

    const answered = await speaker.sendTask(aRequest(aMessage("the key", { taskId })));

    expect(status.state).toBe("auth-required");
    expect(textOfParts(status.message?.parts ?? [])).toBe("sign in first");
    expect(answered.status.state).toBe("completed");
  });

  const isKept = speaker.version === "1.0";
  verifies(
    ["v1-S59", "seed-C14"],
    `${isKept ? "keeps" : "ends"} a stream at auth-required`,
    async () => {
      const stream = speaker.stream(aRequest("authorize"));
      const begun = [await next(stream), await next(stream), await next(stream)];
      const taskId = taskIdIn(begun);

      const ended = isKept ? undefined : await readAll(stream);
      const answered = await speaker.sendTask(aRequest(aMessage("the key", { taskId })));
      const rest = ended ?? (await readAll(stream));

      expect(outline(begun).at(-1)).toBe("status auth-required");
      expect(outline(rest)).toEqual(
        isKept ? ["status working", "artifact thanks for the key", "status completed"] : [],
      );
      expect(answered.status.state).toBe("completed");
    },
  );

  verifies(
    ["seed-C14", "R57"],
    "ends a stream with its question, and continues in another",
    async () => {
      const asking = await readAll(speaker.stream(aRequest("ask")));
      const taskId = taskIdIn(asking);

      const answering = await readAll(speaker.stream(aRequest(aMessage("yes", { taskId }))));

      expect(asking.at(-1)?.event).toMatchObject({
        kind: "status-update",
        status: { state: "input-required" },
        final: true,
      });
      expect(outline(answering).at(0)).toMatch(/^task /);
      expect(outline(answering).at(-1)).toBe("status completed");
    },
  );
});

describe.each(speakersTo(server))(
  "a message that is sent again over $binding $version",
  (speaker) => {
    verifies("R12", "finds its task, regardless of the binding", async () => {
      const request = aRequest("hello");

      const first = await speaker.sendTask(request);
      const again = await Promise.all(
        speakersTo(server).map(async (other) => (await other.sendTask(request)).id),
      );

      expect(new Set(again)).toEqual(new Set([first.id]));
    });

    verifies("R12", "with different content is rejected", async () => {
      const request = aRequest("hello");
      await speaker.send(request);

      const { messageId } = request.message;
      const refusal = await refusalOf(speaker.send(aRequest(aMessage("bye", { messageId }))));

      expect(refusal.reason).toBe("InvalidParams");
      expect(refusal.message).toContain("message.messageId");
    });
  },
);

describe.each(speakersOf(server, "1.0"))("over $binding $version", (speaker) => {
  verifies(
    "v1-S37",
    "an agent receives the conversation of the context, and references to other tasks",
    async () => {
      const first = await speaker.sendTask(aRequest("count 2"));
      const { id, contextId } = first;

      const message = aMessage("remember", { contextId, referenceTaskIds: [id, "unknown"] });
      const task = await speaker.sendTask(aRequest(message));

      expect(task.id).not.toBe(id);
      expect(task.history?.[0]?.referenceTaskIds).toEqual([id, "unknown"]);
      expect(JSON.parse(textOf(task))).toEqual({
        said: ["user: count 2", "agent: 1 2"],
        referred: [id, "unknown"],
      });
    },
  );
});
