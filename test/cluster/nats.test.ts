import { type AgentServer, connect, defineAgent, serve } from "convoke";
import { describe, expect, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { type NatsServer, needsNats } from "../harness/nats.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { beforeAllWith } from "../needs.ts";

/** A liveness bound: what does not come by NATS is found by looking. */
const WITHIN = { timeout: 20_000, interval: 20 };

/** What the agent says. */
let say: (word: string) => void;
const words = new ReadableStream<string>({
  start: (controller) => {
    say = (word) => controller.enqueue(word);
  },
});

const speaker = defineAgent({
  name: "Speaker",
  description: "Says words from a list until the word is stop.",
  async *run() {
    for await (const word of words) {
      yield `${word}. `;
      if (word === "stop") return;
    }
  },
});

describe("servers on one database that use NATS", () => {
  const database = needsPostgres();
  const aNats = needsNats();
  const loggers = [memoryLogger(), memoryLogger()];
  let nats: NatsServer;
  let servers: readonly AgentServer[];
  beforeAllWith(["nats", "postgres"], async () => {
    nats = await aNats();
    await nats.start();
    const common = { port: 0, database: await database(), nats: nats.url, data: "memory" };
    servers = await Promise.all(loggers.map((logger) => serve(speaker, { ...common, logger })));
    return async () => {
      await Promise.all(servers.map((server) => server.close({ drainMs: 0 })));
      await nats.kill();
    };
  });

  async function hintsDown(): Promise<readonly string[]> {
    const texts = servers.map(async ({ url }) => (await fetch(`${url}/metrics`)).text());
    const pattern = /^convoke_hints_down\{bus="NATS"\} (\d+)$/m;
    return (await Promise.all(texts)).map((text) => pattern.exec(text)?.[1] ?? "none");
  }

  test("a stream from one to the other loses nothing while NATS is paused, killed and back", async () => {
    const [here, there] = await Promise.all(servers.map(({ url }) => connect(url)));
    const run = here!.stream("begin");
    await run[Symbol.asyncIterator]().next();
    const taskId = run.taskId!;
    let text = "";
    const reading = (async () => {
      for await (const delta of there!.subscribe(taskId).text) text += delta;
    })();
    const arrives = async (word: string): Promise<void> => {
      say(word);
      await expect.poll(() => text, WITHIN).toMatch(new RegExp(`${word}\\. $`));
    };

    await arrives("one");
    await arrives("two");
    nats.pause();
    await arrives("paused");
    nats.resume();
    await arrives("resumed");
    expect(await hintsDown()).toEqual(["0", "0"]);
    await nats.kill();
    await arrives("killed");
    await expect.poll(hintsDown, WITHIN).toEqual(["1", "1"]);
    await nats.start();
    await expect.poll(hintsDown, WITHIN).toEqual(["0", "0"]);
    await arrives("back");
    say("stop");
    await reading;

    expect(text).toBe("one. two. paused. resumed. killed. back. stop. ");
    for (const { lines } of loggers) {
      const told = lines.filter((line) => line.includes("NATS"));
      expect(told).toEqual([
        expect.stringContaining("do not arrive by NATS"),
        expect.stringContaining("arrive again by NATS"),
      ]);
    }
  });
});
