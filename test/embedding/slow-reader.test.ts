import { type Mounted, connect, defineAgent, mount } from "convoke";
import { expect, onTestFinished, test, vi } from "vitest";

const CHUNKS = 20_000;
const CHUNK = "x".repeat(1000);

/** A page of the log, with the overhead of each frame: what is written at once. */
const ONE_PAGE = 256 * 2 * CHUNK.length;

const talker = defineAgent({
  name: "Talker",
  description: "Says more than anyone reads.",
  async *run() {
    for (let chunk = 0; chunk < CHUNKS; chunk++) yield CHUNK;
  },
});

test("a reader that stops reading does not fill memory, and misses nothing", async () => {
  await using mounted = await mount(talker, { data: "memory" });
  const queued = countQueuedBytes();
  const agent = await connect("http://localhost/", { fetch: fetchOf(mounted) });
  const { body } = await beginStream(mounted);
  const reader = body!.getReader();
  let bytes = (await reader.read()).value!.byteLength;
  const { tasks } = await agent.list();

  // Nothing is read while the agent emits everything.
  await expect
    .poll(async () => (await agent.get(tasks[0]!.id)).status.state, { timeout: 25_000 })
    .toBe("completed");
  const queuedMeanwhile = queued() - bytes;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
  }

  expect(queuedMeanwhile).toBeLessThanOrEqual(ONE_PAGE);
  expect(queued()).toBe(bytes);
  expect(bytes).toBeGreaterThan(CHUNKS * CHUNK.length);
});

/**
 * Everything that is put into queues of streams, from now on. Non-streaming responses have none.
 */
function countQueuedBytes(): () => number {
  let bytes = 0;
  const { prototype } = ReadableStreamDefaultController;
  const enqueue = Object.getOwnPropertyDescriptor(prototype, "enqueue")?.value as () => void;
  vi.spyOn(prototype, "enqueue").mockImplementation(function (
    this: ReadableStreamDefaultController,
    chunk: unknown,
  ) {
    if (chunk instanceof Uint8Array) bytes += chunk.byteLength;
    Reflect.apply(enqueue, this, [chunk]);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  return () => bytes;
}

function fetchOf(mounted: Mounted): typeof fetch {
  return (input, init) => mounted.fetch(new Request(input, init));
}

function beginStream(mounted: Mounted): Promise<Response> {
  const message = { messageId: "m1", role: "user", parts: [{ kind: "text", text: "talk" }] };
  const params = { message };
  return mounted.fetch(
    new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/stream", params }),
    }),
  );
}
