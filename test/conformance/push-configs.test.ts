import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { Webhook } from "../push/a-webhook.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aMessage, aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent(), { push: { allow: ["127.0.0.1"] } });
const silent = useServer(conformanceAgent(), { push: false });

const SECRETS = {
  token: "a-token",
  authentication: { schemes: ["Bearer"], credentials: "a-secret" },
};

describe.each(speakersTo(server))("push configs over $binding $version", (speaker) => {
  verifies(
    ["v1-S39", "v1-S40"],
    "are given back as they were set, alone and in the list",
    async () => {
      const webhook = await Webhook.start();
      const { id: taskId } = await speaker.sendTask(aRequest("ask"));
      const one = { taskId, id: "one", url: webhook.url, ...SECRETS };
      const two = { taskId, id: "two", url: webhook.url };

      const set = [await setOne(speaker, one), await setOne(speaker, two)];

      expect(set).toEqual([one, two]);
      expect(await speaker.getPush({ taskId, id: "one" })).toEqual(one);
      expect(await speaker.listPush({ taskId })).toEqual({
        configs: [one, two],
        nextPageToken: "",
      });
    },
  );

  verifies("v1-S39", "get an id where they have none", async () => {
    const webhook = await Webhook.start();
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));

    const { id } = await speaker.setPush({ taskId, target: { url: webhook.url } });

    expect(id).not.toBe("");
    expect(await speaker.getPush({ taskId, id })).toMatchObject({ id, url: webhook.url });
  });

  verifies("v1-S40", "may have any id, which is told apart from the path around it", async () => {
    const webhook = await Webhook.start();
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));
    const config = { taskId, id: "a/b c%2F?ü#:cancel", url: webhook.url };

    await setOne(speaker, config);
    const got = await speaker.getPush(config);
    await speaker.deletePush(config);

    expect(got).toEqual(config);
    expect((await speaker.listPush({ taskId })).configs).toEqual([]);
  });

  verifies("v1-S40", "that a task does not have are refused", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));

    const refusal = await refusalOf(speaker.getPush({ taskId, id: "none" }));

    expect(refusal.reason).toBe("TaskNotFound");
  });

  verifies(
    "v1-S41",
    "that are deleted are gone, deliver nothing, and may be deleted again",
    async () => {
      const [kept, deleted] = [await Webhook.start(), await Webhook.start()];
      const { id: taskId } = await speaker.sendTask(aRequest("ask"));
      await setOne(speaker, { taskId, id: "kept", url: kept.url });
      await setOne(speaker, { taskId, id: "deleted", url: deleted.url });

      await speaker.deletePush({ taskId, id: "deleted" });
      await speaker.deletePush({ taskId, id: "deleted" });
      await speaker.send(aRequest(aMessage("yes", { taskId })));
      await expect.poll(() => JSON.stringify(kept.bodies), POLL).toMatch(/completed/i);

      expect(await refusalOf(speaker.getPush({ taskId, id: "deleted" }))).toMatchObject({
        reason: "TaskNotFound",
      });
      expect((await speaker.listPush({ taskId })).configs.map(({ id }) => id)).toEqual(["kept"]);
      expect(deleted.arrivals).toEqual([]);
    },
  );

  verifies(["v1-S42", "v03-S17"], "bring notifications in the words of their version", async () => {
    const webhook = await Webhook.start();
    const gate = randomUUID();
    const task = await speaker.sendTask(
      aRequest(`wait ${gate}`, {
        blocking: false,
        pushConfig: { id: "hook", url: webhook.url, ...SECRETS },
      }),
    );

    gateOf(gate).open();
    await expect.poll(() => JSON.stringify(webhook.bodies), POLL).toMatch(/completed/i);

    for (const { headers } of webhook.arrivals) {
      expect(headers["authorization"]).toBe("Bearer a-secret");
      expect(headers["x-a2a-notification-token"]).toBe("a-token");
    }
    const isNew = speaker.version === "1.0";
    for (const body of webhook.bodies as readonly object[]) {
      expect(JSON.stringify(body)).toContain(task.id);
      if (isNew) expect(Object.keys(body)).toHaveLength(1);
      else expect(body).toMatchObject({ kind: "task", id: task.id });
    }
    expect(webhook.arrivals[0]?.headers["content-type"]).toBe(
      isNew ? "application/a2a+json" : "application/json",
    );
  });

  verifies(["v03-S17"], "to an address inside the network are refused", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));
    const target = { url: "http://169.254.169.254/latest" };

    const refusals = [
      await refusalOf(speaker.setPush({ taskId, target })),
      await refusalOf(speaker.send(aRequest("hello", { pushConfig: target }))),
    ];

    expect(refusals.map(({ reason }) => reason)).toEqual(["InvalidParams", "InvalidParams"]);
    for (const { message } of refusals) expect(message).toContain("url");
  });
});

describe.each(speakersTo(silent))("without push over $binding $version", (speaker) => {
  verifies(["v1-S26", "v03-S5"], "every operation about it is refused", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));
    const target = { url: "https://hooks.example.com/" };

    const refusals = await Promise.all([
      refusalOf(speaker.setPush({ taskId, target })),
      refusalOf(speaker.getPush({ taskId, id: "one" })),
      refusalOf(speaker.listPush({ taskId })),
      refusalOf(speaker.deletePush({ taskId, id: "one" })),
      refusalOf(speaker.send(aRequest("hello", { pushConfig: target }))),
    ]);

    expect(refusals.map(({ reason }) => reason)).toEqual(
      refusals.map(() => "PushNotificationNotSupported"),
    );
  });
});

const POLL = { timeout: 15_000 };

function setOne(
  speaker: Speaker,
  { taskId, ...target }: { taskId: string; id: string; url: string },
) {
  return speaker.setPush({ taskId, target });
}
