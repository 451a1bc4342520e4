import { SseDecoder } from "@convoke/protocol";
import { defineAgent, serve } from "convoke";
import { afterEach, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";

/** Emits one chunk, and the other when the test allows it. */
function aSlowAgent() {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const agent = defineAgent({
    name: "Slow",
    description: "Takes its time.",
    async *run() {
      begun += 1;
      yield "first ";
      await gate.promise;
      yield "second";
    },
  });
  return { agent, finish: () => gate.resolve(), begun: () => begun };
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function aServer() {
  const { agent, finish, begun } = aSlowAgent();
  const server = await serve(agent, { port: 0, data: "memory", idempotency: "always" });
  closers.push(() => server.close());
  const post = (method: string, messageId: string) =>
    fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: { message: { messageId, role: "user", parts: [{ kind: "text", text: "go" }] } },
      }),
    });
  return { server, finish, begun, post };
}

describe("a server that stops", () => {
  test("lets an open stream finish, and rejects new work with 503 and Retry-After", async () => {
    const { server, finish, post } = await aServer();
    const stream = await post("message/stream", "m1");

    const closed = server.close({ drainMs: 20_000 });
    const refused = await post("message/send", "m2");
    finish();
    const text = await stream.text();
    await closed;

    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.json()).toMatchObject({ error: { code: -32603 } });
    expect(new SseDecoder().push(text).at(-1)?.data).toContain('"completed"');
  });

  verifies(
    "G3",
    "asks readers to reconnect, and waiting senders to retry, at the deadline",
    async () => {
      const { server, begun, post } = await aServer();
      const stream = await post("message/stream", "m1");
      const waiting = post("message/send", "m2");
      await expect.poll(begun, { timeout: 20_000 }).toBe(2);
      const pieces = stream.body!.pipeThrough(new TextDecoderStream()).values();
      let text = "";
      while (!text.includes("first ")) {
        const { done, value } = await pieces.next();
        if (done) break;
        text += value;
      }

      await server.close({ drainMs: 50 });
      for await (const piece of pieces) text += piece;
      const told = await waiting;

      expect(text).toContain("first ");
      expect(text).toMatch(/retry: 1000\n/);
      expect(told.status).toBe(503);
      expect(told.headers.get("retry-after")).toBe("1");
      expect(JSON.stringify(await told.json())).toContain("send the same message again");
    },
  );
});
