import { existsSync, statSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, defineAgent, serve } from "convoke";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

// The short form; `npm run test:soak` runs the full size.
const EVENTS = Number(process.env["CONVOKE_SOAK_EVENTS"] ?? 100_000);
const MB = 1024 * 1024;

/** SQLite checkpoints the write-ahead log at 4 MB; a batch in progress may come on top. */
const MOST_BYTES = 24 * MB;

const talker = defineAgent({
  name: "Talker",
  description: "Says a word as often as it is told.",
  async *run({ text }) {
    for (let count = 0; count < Number(text); count++) yield "word ";
  },
});

verifies(
  "G8",
  `a reader of one event per second keeps the write-ahead log small while ${EVENTS} events are written`,
  async () => {
    const data = join(temporaryFolder(), "data");
    const server = await serve(talker, {
      port: 0,
      data,
      limits: { events: 2 * EVENTS, artifactLength: 100 * EVENTS },
    });
    onTestFinished(() => server.close());
    const wal = join(data, "tasks.db-wal");
    let most = 0;
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        if (existsSync(wal)) most = Math.max(most, statSync(wal).size);
        await sleep(20);
      }
    })();

    const reader = await slowReader(server.url, EVENTS);
    const agent = await connect(server.url);
    const { tasks } = await agent.list({ pageSize: 1 });
    const taskId = tasks[0]?.id ?? "";
    await expect
      .poll(async () => (await agent.get(taskId)).status.state, { timeout: 120_000, interval: 200 })
      .toBe("completed");
    isOver = true;
    await watching;
    process.stdout.write(
      `${EVENTS} events beside a reader that took ${reader.events()}: ` +
        `the write-ahead log had at most ${(most / MB).toFixed(1)} MB\n`,
    );
    reader.leave();

    expect(reader.events()).toBeLessThan(EVENTS / 2);
    expect(most).toBeLessThan(MOST_BYTES);
  },
  180_000,
);

/** Streams a task and reads about one event per second. */
async function slowReader(url: string, events: number) {
  const message = {
    messageId: "m1",
    role: "user",
    parts: [{ kind: "text", text: String(events) }],
  };
  const body = { jsonrpc: "2.0", id: 1, method: "message/stream", params: { message } };
  const headers = { "content-type": "application/json" };
  const asked = request(url, { method: "POST", headers });
  asked.end(JSON.stringify(body));
  const response = await new Promise<IncomingMessage>((resolve) => asked.once("response", resolve));
  let seen = 0;
  const timer = setInterval(() => {
    const piece = response.read(256) as Buffer | null;
    if (piece !== null) seen++;
  }, 1000);
  response.on("error", () => undefined);
  return {
    events: () => seen,
    leave: () => {
      clearInterval(timer);
      response.destroy();
    },
  };
}
