import { CODER_DIALECTS, EXTENSIONS } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { type CoderFrame, coderClient, saying, sending, taskIdIn } from "./a-coder-client.ts";
import { codingAgent } from "./a-coding-agent.ts";

const DIALECTS = { ...CODER_DIALECTS, coder: EXTENSIONS.coder.uri };

/** A task with parallel calls, so that one event of its log becomes several frames. */
async function watchedTask(uri: string) {
  const tools = [
    calls("write_file", { path: "/project/a.ts", content: "two\n" }, "c1"),
    calls("run_command", { command: "npm test" }, "c2"),
    calls("fail", {}, "c3"),
  ];
  const source = { kind: "source", url: "https://example.com/" } as const;
  const thought = { kind: "reasoning", text: "Hm." } as const;
  const model = scriptedModel([[thought, source, ...tools], "All is done now."]);
  const client = (await coderClient(codingAgent(model))).activating(uri);
  const taskId = taskIdIn(await client.stream(saying("go")));
  const replies = ["c1", "c2"].map((callId) => ({ callId, outcome: "proceed_once" }));
  await client.stream({ taskId, ...sending(...replies) });
  const resume = (cursor: string): Promise<readonly CoderFrame[]> =>
    client.with({ "last-event-id": cursor }).frames("/", {
      jsonrpc: "2.0",
      id: 1,
      method: "tasks/resubscribe",
      params: { id: taskId },
    });
  return { resume, client, taskId };
}

describe.each(Object.entries(DIALECTS))("a stream in the dialect %s", (_name, uri) => {
  verifies(["G2", "R42"], "that is cut anywhere loses and repeats nothing", async () => {
    const { resume } = await watchedTask(uri);
    const whole = await resume("0");
    expect(whole.some(({ cursor }) => cursor.includes("+"))).toBe(true);

    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(whole.length - 1), { minLength: 1, maxLength: 4 }),
        async (places) => {
          const cuts = [...new Set(places)].toSorted((a, b) => a - b);
          let read: readonly CoderFrame[] = [];
          for (const cut of cuts) {
            const rest = await resume(read.at(-1)?.cursor ?? "0");
            read = [...read, ...rest.slice(0, cut + 1 - read.length)];
          }
          read = [...read, ...(await resume(read.at(-1)?.cursor ?? "0"))];
          expect(read).toEqual(whole);
        },
      ),
      { numRuns: 8 },
    );
  });
});

test("a cursor inside an event is unknown to a plain stream, which starts over", async () => {
  const { client, taskId } = await watchedTask(DIALECTS.coder);
  const plain = client.with({ "last-event-id": "7+1", "x-a2a-extensions": "" });
  const body = { jsonrpc: "2.0", id: 1, method: "tasks/resubscribe", params: { id: taskId } };

  const [first] = await plain.frames("/", body);

  expect(first?.event).toMatchObject({ kind: "task", metadata: { resumption: "reset" } });
});
