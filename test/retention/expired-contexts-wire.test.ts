import { randomUUID } from "node:crypto";
import { textOf } from "@convoke/protocol";
import { type ServeAgentOptions, defineAgent, serve } from "convoke";
import { describe, expect, onTestFinished } from "vitest";
import { readAll } from "../conformance/reading.ts";
import { type Refusal, refusalOf } from "../conformance/refusal.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const agent = defineAgent({
  name: "Mindful",
  description: "Says how much was said before.",
  run: async ({ conversation }) => `I remember ${conversation.length}`,
});

/** Keeps no ended task. */
const FORGETFUL = { maxTasks: 0, perCycle: 1, everyMs: 20 };
const TOKEN = "a-token-of-ours";

describe("a server that has forgotten the tasks of a conversation", () => {
  const server = useServer(agent, { retention: FORGETFUL, idempotency: "always" });

  describe.each(speakersTo(server))("says so over $binding $version", (speaker) => {
    verifies("R10", "instead of starting over under the same id", async () => {
      const contextId = randomUUID();
      const first = aRequest(aMessage("one", { contextId }));
      await untilGone(speaker, (await speaker.sendTask(first)).id);
      const more = (): ReturnType<typeof aRequest> => aRequest(aMessage("two", { contextId }));

      expectExpired(speaker, await refusalOf(speaker.send(more())));
      expectExpired(speaker, await refusalOf(readAll(speaker.stream(more()))));

      // A message that was already sent has had its task, which is returned.
      expect((await refusalOf(speaker.send(first))).reason).toBe("TaskNotFound");
      const another = await speaker.sendTask(
        aRequest(aMessage("one", { contextId: randomUUID() })),
      );
      const without = await speaker.sendTask(aRequest("one"));
      expect([textOf(another), textOf(without)]).toEqual(["I remember 0", "I remember 0"]);
      expect(without.contextId).not.toBe(contextId);
    });
  });
});

verifies(
  "R10",
  "a conversation stays expired for its owner only, across a restart, until message ids are freed",
  async () => {
    const data = temporaryFolder();
    const request = () => aRequest(aMessage("hello", { contextId: "c" }));
    await whileServing({ data, token: TOKEN, retention: FORGETFUL }, async ([speaker]) => {
      await untilGone(speaker!, (await speaker!.sendTask(request())).id);
    });

    await whileServing({ data, token: TOKEN }, async (speakers) => {
      for (const speaker of speakers) {
        expectExpired(speaker, await refusalOf(speaker.send(request())));
      }
    });
    await whileServing({ data }, async ([stranger]) => {
      expect(textOf(await stranger!.sendTask(request()))).toBe("I remember 0");
    });
    const short = { messagesMaxAgeMs: 0, everyMs: 20 };
    await whileServing({ data, token: TOKEN, retention: short }, async ([speaker]) => {
      const answer = async () => textOf(await speaker!.sendTask(request()));
      await expect.poll(answer, { timeout: 20_000 }).toBe("I remember 0");
      expect(await answer()).toBe("I remember 2");
    });
  },
);

/** Serves the agent for a while, to speakers of every binding and version. */
async function whileServing(
  options: ServeAgentOptions,
  visit: (speakers: readonly Speaker[]) => Promise<void>,
): Promise<void> {
  const server = await serve(agent, { port: 0, idempotency: "always", ...options });
  onTestFinished(() => server.close());
  const headers = { authorization: `Bearer ${TOKEN}` };
  await visit(speakersTo(server).map((speaker) => speaker.with(headers)));
  await server.close();
}

/** Waits until the server has pruned a task. */
async function untilGone(speaker: Speaker, taskId: string): Promise<void> {
  const reason = async () => (await refusalOf(speaker.get({ taskId }))).reason;
  await expect.poll(reason, { timeout: 20_000 }).toBe("TaskNotFound");
}

/** The error names the field and the fix, as each binding represents it. */
function expectExpired({ binding, version }: Speaker, refusal: Refusal): void {
  expect(refusal.reason).toBe("InvalidParams");
  expect(refusal.message).toContain(
    "message.contextId names a conversation that has expired; leave contextId out to begin a new one",
  );
  // gRPC in 0.3 has only a text.
  if (binding !== "grpc" || version !== "0.3") expect(refusal.field).toBe("message.contextId");
  const spelled = {
    jsonrpc: { code: -32602 },
    rest: { http: 400 },
    grpc: { grpc: 3 },
  };
  expect(refusal).toMatchObject(spelled[binding]);
}
