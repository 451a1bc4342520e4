import { setTimeout as sleep } from "node:timers/promises";
import { EXTENSIONS, type Task } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { readAll } from "../conformance/reading.ts";
import { refusalOf } from "../conformance/refusal.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking, listening } from "./a-listening-speaker.ts";
import { FORMAL, FORMAL_NEXT, UNKNOWN, extensionAgent } from "./extension-agent.ts";
import { seenIn } from "./seen.ts";

const server = useServer(extensionAgent());
const replying = useServer(
  extensionAgent({
    replies: true,
    async run({ reply }) {
      await sleep(100);
      return reply("just so");
    },
  }),
);
const { resumption, idempotency, skill } = EXTENSIONS;

describe.each(speakersTo(server))("extensions over $binding $version", (speaker) => {
  const other = speaker.version === "1.0" ? "0.3" : "1.0";

  verifies(
    ["v1-S31", "v03-S18"],
    "are active if they are requested and declared, and the response says so",
    async () => {
      const asked = asking(speaker, `${FORMAL}, ${UNKNOWN},${skill.uri}`);

      const task = await asked.speaker.sendTask(aRequest("hello"));

      expect(seenIn(task).active).toEqual([FORMAL, skill.uri]);
      expect(asked.active()).toEqual([FORMAL, skill.uri]);
      expect(asked.echo()[other]).toBeUndefined();
    },
  );

  verifies(["v1-S31", "v03-S18"], "that are unknown are ignored, without a header", async () => {
    const asked = asking(speaker, UNKNOWN);

    const task = await asked.speaker.sendTask(aRequest("hello"));

    expect(seenIn(task).active).toEqual([]);
    expect(asked.echo()).toEqual({ "0.3": undefined, "1.0": undefined });
  });

  test("are inactive if none is requested, and there is no header", async () => {
    const silent = listening(speaker, {});

    const task = await silent.speaker.sendTask(aRequest("hello"));

    expect(seenIn(task).active).toEqual([]);
    expect(silent.echo()).toEqual({ "0.3": undefined, "1.0": undefined });
  });

  verifies(["v1-S30", "v03-S18"], "of another version are other extensions", async () => {
    for (const uri of [FORMAL_NEXT, FORMAL.toUpperCase(), `${FORMAL}/`, FORMAL.slice(0, -1)]) {
      const asked = asking(speaker, uri);

      const task = await asked.speaker.sendTask(aRequest("hello"));

      expect(seenIn(task).active).toEqual([]);
      expect(asked.active()).toEqual([]);
    }
  });

  test("may be requested under either name, and each name is answered", async () => {
    const header = other === "1.0" ? "a2a-extensions" : "x-a2a-extensions";
    const asked = asking(speaker, FORMAL, header);
    const both = listening(speaker, { "a2a-extensions": FORMAL, "x-a2a-extensions": skill.uri });

    const first = await asked.speaker.sendTask(aRequest("hello"));
    const second = await both.speaker.sendTask(aRequest("hello"));

    expect(seenIn(first).active).toEqual([FORMAL]);
    expect(asked.echo()).toEqual({ "0.3": FORMAL, "1.0": FORMAL });
    expect(seenIn(second).active).toEqual([FORMAL, skill.uri]);
  });

  verifies("v1-S31", "are listed in the headers of a stream", async () => {
    const asked = asking(speaker, FORMAL);

    const told = await readAll(asked.speaker.stream(aRequest("hello")));

    expect(asked.active()).toEqual([FORMAL]);
    expect(told.at(-1)?.event).toMatchObject({ status: { state: "completed" } });
  });

  test("are listed in every response, also in errors", async () => {
    const asked = asking(speaker, `${resumption.uri}, ${idempotency.uri}`);

    const refusal = await refusalOf(asked.speaker.get({ taskId: "unknown" }));

    expect(refusal.reason).toBe("TaskNotFound");
    expect(asked.active()).toEqual([resumption.uri, idempotency.uri]);
  });

  test("that are too many, or too long, are rejected with the name of the header", async () => {
    const many = Array.from({ length: 65 }, (_, place) => `urn:e:${place}`).join(",");
    for (const uris of [many, `urn:${"x".repeat(2000)}`]) {
      const asked = asking(speaker, uris);

      const refusal = await refusalOf(asked.speaker.sendTask(aRequest("hello")));

      expect(refusal.reason).toBe("InvalidParams");
      expect(refusal.message.toLowerCase()).toContain("a2a-extensions");
      expect(asked.active()).toEqual([]);
    }
  });

  test("do not change the message: its list and its metadata arrive as they were sent", async () => {
    const metadata = { [FORMAL]: { level: "formal" }, [UNKNOWN]: { a: [1, { b: null }] }, x: "y" };
    const message = aMessage("hello", { extensions: [FORMAL, UNKNOWN], metadata });
    const silent = listening(speaker, {});

    const task = await silent.speaker.sendTask(aRequest(message));

    expect(seenIn(task)).toEqual({ active: [], metadata, written: [FORMAL, UNKNOWN] });
    const [kept] = task.history ?? [];
    expect(kept).toMatchObject({ extensions: [FORMAL, UNKNOWN], metadata });
  });
});

describe.each(speakersTo(server))("a later message over $binding $version", (speaker) => {
  test("that answers a question belongs to the turn that asked", async () => {
    const asked = await asking(speaker, FORMAL).speaker.sendTask(aRequest("ask"));

    const answered = await answer(asking(speaker, skill.uri).speaker, asked);

    expect(seenIn(answered).active).toEqual([FORMAL]);
  });
});

describe.each(speakersTo(replying))(
  "an agent that may reply, over $binding $version",
  (speaker) => {
    test("returns only its reply, without a task, whatever is active", async () => {
      const told = await readAll(asking(speaker, FORMAL).speaker.stream(aRequest("hello")));

      expect(told.map(({ event }) => event.kind)).toEqual(["message"]);
    });
  },
);

function answer(speaker: ReturnType<typeof asking>["speaker"], { id, contextId }: Task) {
  return speaker.sendTask(aRequest(aMessage("fine", { taskId: id, contextId })));
}
