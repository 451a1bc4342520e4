import { describe, expect, test } from "vitest";
import { refusalOf } from "../conformance/refusal.ts";
import { readAll } from "../conformance/reading.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking } from "./a-listening-speaker.ts";
import { FORMAL, FORMAL_NEXT, extensionAgent } from "./extension-agent.ts";

const AUDIT = "urn:example:audit:1";
const agent = extensionAgent({
  extensions: [{ uri: FORMAL, required: true }, { uri: AUDIT, required: true }, { uri: "urn:x:1" }],
});
const server = useServer(agent);
const BOTH = `${FORMAL}, ${AUDIT}`;

describe.each(speakersTo(server))("a required extension over $binding $version", (speaker) => {
  verifies(
    ["v1-S29", "v03-S18"],
    "that is not requested rejects a message with its URI",
    async () => {
      const sent = await refusalOf(speaker.send(aRequest("hello")));
      const streamed = await refusalOf(readAll(speaker.stream(aRequest("hello"))));

      for (const refusal of [sent, streamed]) {
        expect(refusal).toMatchObject({ reason: "ExtensionSupportRequired", ...spelling(speaker) });
        expect(refusal.message).toContain(FORMAL);
        expect(refusal.message).toContain(AUDIT);
        expect(refusal.message).not.toContain("urn:x:1");
      }
    },
  );

  verifies(
    ["v1-S29", "v1-S30"],
    "does not match a part of its URI, nor another version",
    async () => {
      const half = await refusalOf(asking(speaker, FORMAL).speaker.send(aRequest("hello")));
      const next = asking(speaker, `${AUDIT}, ${FORMAL_NEXT}`).speaker;

      expect(half.message).toContain(AUDIT);
      expect(half.message).not.toContain(FORMAL);
      expect((await refusalOf(next.send(aRequest("hello")))).reason).toBe(
        "ExtensionSupportRequired",
      );
    },
  );

  verifies("v1-S29", "that is requested does not reject the message", async () => {
    const task = await asking(speaker, BOTH).speaker.sendTask(aRequest("hello"));

    expect(task.status.state).toBe("completed");
  });

  verifies("v1-S29", "does not prevent a caller from reading and ending its tasks", async () => {
    const { id: taskId, contextId } = await asking(speaker, BOTH).speaker.sendTask(aRequest("ask"));

    const answer = aMessage("fine", { taskId, contextId });
    const refused = await refusalOf(speaker.send(aRequest(answer)));
    const [first] = await firstOf(speaker, taskId);
    const read = await speaker.get({ taskId });
    const canceled = await speaker.cancel({ taskId });

    expect(refused.reason).toBe("ExtensionSupportRequired");
    expect(first?.event).toMatchObject({ kind: "task", id: taskId });
    expect(read.status.state).toBe("input-required");
    expect(canceled.status.state).toBe("canceled");
  });
});

test("the card of an agent with a required extension can be read by everyone", async () => {
  const answer = await fetch(new URL("/.well-known/agent-card.json", server.url));

  expect(answer.status).toBe(200);
});

/** Each binding has its own code for it. */
function spelling({ binding, version }: Speaker): object {
  if (binding === "grpc") return { grpc: 9 };
  if (binding === "jsonrpc") return { code: -32008 };
  return version === "1.0"
    ? { http: 400, status: "FAILED_PRECONDITION" }
    : { http: 400, code: -32008 };
}

async function firstOf(speaker: Speaker, taskId: string) {
  const stream = speaker.subscribe({ taskId });
  const { value } = await stream.next();
  await stream.return();
  return [value ?? undefined];
}
