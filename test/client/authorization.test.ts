import { type RemoteAgent, connect } from "@convoke/client";
import { describe, expect } from "vitest";
import { aPushingServer } from "../push/a-pushing-server.ts";
import { Webhook } from "../push/a-webhook.ts";
import { verifies } from "../verifies.ts";
import { worker } from "./worker-agent.ts";

/** A task that waits for an authorization, which arrives out of band. */
async function aWaitingTask(remote: RemoteAgent): Promise<{
  readonly taskId: string;
  readonly authorize: () => Promise<unknown>;
}> {
  const { question } = await remote.send("auth");
  expect(question).toMatchObject({ kind: "auth-required", text: "Log in first." });
  const taskId = question?.taskId ?? "";
  return { taskId, authorize: () => remote.send("done", { taskId }) };
}

describe.each(["1.0", "0.3"] as const)(
  "a task in %s that waits for an authorization",
  (version) => {
    const aRemote = async () => connect((await aPushingServer(worker)).url, { version });

    verifies(["v1-C10"], "can be followed by subscribing to it", async () => {
      const remote = await aRemote();
      const { taskId, authorize } = await aWaitingTask(remote);
      const states: string[] = [];
      const run = remote.subscribe(taskId);

      for await (const event of run) {
        if (!("status" in event)) continue;
        states.push(event.status.state);
        if (states.length === 1) void authorize();
      }

      expect(states[0]).toBe("auth-required");
      expect(states.at(-1)).toBe("completed");
      expect((await run.result).text).toBe("You are in.");
    });

    verifies(["v1-C10"], "notifies a webhook that is registered in the meantime", async () => {
      const webhook = await Webhook.start();
      const remote = await aRemote();
      const { taskId, authorize } = await aWaitingTask(remote);

      await remote.push.set(taskId, { url: webhook.url });
      await authorize();

      const last = () => webhook.arrivals.at(-1)?.body.toLowerCase();
      await expect.poll(last, { timeout: 20_000 }).toContain("completed");
    });

    verifies(["v1-C10"], "can be polled", async () => {
      const remote = await aRemote();
      const { taskId, authorize } = await aWaitingTask(remote);
      const state = async () => (await remote.get(taskId)).status.state;

      expect(await state()).toBe("auth-required");
      await authorize();

      await expect.poll(state).toBe("completed");
    });

    verifies(["v1-C10"], "also makes a local task that delegates to it wait", async () => {
      const behind = await aRemote();
      const remote = await connect((await aPushingServer(behind)).url, { version });
      const { taskId, authorize } = await aWaitingTask(remote);

      expect((await remote.get(taskId)).status.state).toBe("auth-required");
      await authorize();

      await expect.poll(async () => (await remote.get(taskId)).status.state).toBe("completed");
    });
  },
);
