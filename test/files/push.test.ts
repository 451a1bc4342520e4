import type { Task } from "@convoke/protocol";
import { expect, test } from "vitest";
import { aRequest } from "../conformance/requests.ts";
import { jsonRpcSpeaker } from "../conformance/speakers.ts";
import { aPushingServer } from "../push/a-pushing-server.ts";
import { Webhook } from "../push/a-webhook.ts";
import { CONTENT, aFileMessage, copier } from "./a-file.ts";

test.each(["0.3", "1.0"] as const)(
  "push notifications of %s have the bytes of large files",
  async (version) => {
    const webhook = await Webhook.start();
    const server = await aPushingServer(copier);
    const speaker = jsonRpcSpeaker(server, version);
    const pushConfig = { url: webhook.url };

    const task: Task = await speaker.sendTask(aRequest(aFileMessage(), { pushConfig }));

    const isComplete = (): boolean => webhook.arrivals.some(({ body }) => /complete/i.test(body));
    await expect.poll(isComplete, { timeout: 20_000 }).toBe(true);
    expect(task.status.state).toBe("completed");
    const bodies = webhook.arrivals.map(({ body }) => body);
    expect(bodies.some((body) => body.includes(CONTENT.toString("base64")))).toBe(true);
    expect(bodies.join("")).not.toContain('"stored"');
  },
);
