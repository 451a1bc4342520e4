import { expect, test } from "vitest";
import { agentMessage } from "@convoke/protocol";
import { readEvents } from "./sse-events.ts";

const MIB = new Uint8Array(1024 * 1024).fill("x".charCodeAt(0));

/** A response whose events never end, or end after a number of chunks. */
async function* pouring(pieces: number, every = pieces + 1): AsyncGenerator<Uint8Array> {
  const text = new TextEncoder();
  for (let place = 0; place < pieces; place += 1) {
    if (place % every === 0) yield text.encode("\n\ndata: ");
    yield MIB;
  }
}

async function read(body: AsyncIterable<Uint8Array>): Promise<number> {
  const answer = { status: 200, statusText: "", headers: {}, url: "http://a.example/", body };
  let events = 0;
  const reading = {
    read: () => agentMessage(`m${(events += 1)}`, []),
    url: answer.url,
    signal: undefined,
  };
  for await (const _ of readEvents(answer, reading));
  return events;
}

test("an endless event is given up before it fills the memory", async () => {
  await expect(read(pouring(1000))).rejects.toThrow(
    "http://a.example/ sent an event of more than 64 MiB",
  );
});

test("a stream may be of any length, with events that end", async () => {
  expect(await read(pouring(100, 20))).toBe(4);
});
