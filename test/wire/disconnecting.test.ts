import { setTimeout as sleep } from "node:timers/promises";
import { type RemoteAgent, connect, defineAgent } from "convoke";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "./wire-server.ts";

const worker = (onDisconnect?: "cancel") =>
  defineAgent({
    name: "worker",
    description: "Works until it is stopped, or asks.",
    ...(onDisconnect && { onDisconnect }),
    async *run({ text, ask, signal }) {
      yield "started";
      if (text === "ask") return ask("Go on?");
      while (!signal.aborted) await sleep(20);
    },
  });

/** Streams a task until it has started, then disconnects. */
async function begin(remote: RemoteAgent, text: string): Promise<string> {
  const left = new AbortController();
  const run = remote.stream(text, { signal: left.signal });
  run.result.catch(() => undefined);
  for await (const event of run) {
    if (event.kind === "artifact-update") {
      left.abort();
      return event.taskId;
    }
  }
  throw new Error("the task did not begin");
}

/** Longer than a client may take to reconnect. */
const LATER_MS = 7000;

describe("when the last client disconnects from a running task", { concurrent: true }, () => {
  const cautious = useServer(worker("cancel"));
  const usual = useServer(worker());

  verifies(["G10", "seed-C8"], "the task continues by default", async () => {
    const remote = await connect(usual.url);

    const id = await begin(remote, "work");
    await sleep(LATER_MS);

    expect((await remote.get(id)).status.state).toBe("working");
  });

  verifies(["G10", "seed-C8"], "the task is canceled if the agent opts in", async () => {
    const remote = await connect(cautious.url);

    const id = await begin(remote, "work");
    await expect
      .poll(async () => (await remote.get(id)).status.state, { timeout: 60_000 })
      .toBe("canceled");
  });

  test("a client that reconnects in time keeps the task running", async () => {
    const remote = await connect(cautious.url);

    const id = await begin(remote, "work");
    const back = remote.subscribe(id);
    back.result.catch(() => undefined);
    await sleep(LATER_MS);

    expect((await remote.get(id)).status.state).toBe("working");
    await remote.cancel(id);
  });
});
