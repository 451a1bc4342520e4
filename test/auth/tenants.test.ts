import { bearer } from "convoke";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../conformance/refusal.ts";
import { aRequest } from "../conformance/requests.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { knowingAgent } from "./a-knowing-agent.ts";

const server = useServer(knowingAgent, {
  tenants: ["acme", "beta"],
  auth: [
    bearer("acme-token", { owner: "ann", tenant: "acme" }),
    bearer("beta-token", { owner: "ann", tenant: "beta" }),
  ],
});
const acme = { authorization: "Bearer acme-token" };
const beta = { authorization: "Bearer beta-token" };

describe.each(speakersTo(server))("over $binding $version", (speaker) => {
  verifies("v1-S56", "a task of one tenant does not exist in another", async () => {
    const { id: taskId } = await speaker.with(acme).sendTask(aRequest("hi"));

    const foreign = await refusalOf(speaker.with(beta).get({ taskId }));
    const unknown = await refusalOf(speaker.with(beta).get({ taskId: "unknown" }));

    expect((await speaker.with(acme).get({ taskId })).id).toBe(taskId);
    expect([foreign.reason, foreign.code]).toEqual([unknown.reason, unknown.code]);
    expect(
      (
        await speaker
          .with(beta)
          .list()
          .catch(() => ({ tasks: [] }))
      ).tasks,
    ).not.toContainEqual(expect.objectContaining({ id: taskId }));
  });
});

describe.each(speakersTo(server).filter(({ version }) => version === "1.0"))(
  "over $binding 1.0",
  (speaker) => {
    test("a token of one tenant is rejected in another", async () => {
      const { id } = await speaker.with(acme).sendTask(aRequest("hi"));
      const call = (tenant: string) => speaker.with(acme).call("getTask", { id, tenant });

      expect(await call("acme")).toMatchObject({ id });
      expect((await refusalOf(call("beta"))).message).toContain('tenant "beta" is not served here');
    });
  },
);

test("a token of one tenant is rejected in the path and under /convoke/ of another", async () => {
  const status = async (path: string, init: RequestInit = {}): Promise<number> => {
    const headers = { ...acme, "a2a-version": "1.0", "content-type": "application/json" };
    return (await fetch(server.url + path, { headers, ...init })).status;
  };
  const replay = { method: "POST", body: "{}" };
  const decision = { method: "POST", body: '{"decision":"once"}' };

  expect([await status("acme/tasks"), await status("beta/tasks")]).toEqual([200, 400]);
  for (const [path, init] of [
    ["convoke/approvals", {}],
    ["convoke/pushes", {}],
    ["convoke/pushes:replay", replay],
  ] as const) {
    const statuses = [
      await status(`${path}?tenant=acme`, init),
      await status(`${path}?tenant=beta`, init),
    ];
    expect(statuses).toEqual([200, 400]);
  }
  expect(await status("convoke/approvals/x:answer?tenant=beta", decision)).toBe(400);
});
