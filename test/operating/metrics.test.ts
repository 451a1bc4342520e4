import { createEgress } from "@convoke/egress";
import { METRICS } from "@convoke/protocol";
import { defineAgent, serve } from "convoke";
import { readFileSync } from "node:fs";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { startCardServer } from "../client/a-card-server.ts";
import { calls } from "../loop/scripts.ts";
import { aServer, metricsOf, rpc, send } from "./a-measured-server.ts";

const never = (): Promise<never> => new Promise(() => undefined);

test("requests are counted by binding, operation and code, and their time is measured", async () => {
  const { url } = await aServer();
  await send(url, "go");
  await rpc(url, "GetTask", { id: "unknown" });
  await rpc(url, "NoSuchMethod", {});
  await fetch(`${url}v1/tasks/unknown`);
  await fetch(`${url}tasks/unknown`, { method: "PUT" });
  await fetch(`${url}.well-known/agent-card.json`);
  await fetch(`${url}somewhere/else`);

  const metrics = await metricsOf(url);

  const requests = (binding: string, operation: string, code: string): number | undefined =>
    metrics.get(
      `convoke_requests_total{binding="${binding}",operation="${operation}",code="${code}"}`,
    );
  expect(requests("jsonrpc", "sendMessage", "ok")).toBe(1);
  expect(requests("jsonrpc", "getTask", "TaskNotFound")).toBe(1);
  expect(requests("jsonrpc", "other", "MethodNotFound")).toBe(1);
  expect(requests("rest", "getTask", "TaskNotFound")).toBe(1);
  expect(requests("rest", "other", "405")).toBe(1);
  expect(requests("card", "getCard", "ok")).toBe(1);
  expect(requests("convoke", "other", "404")).toBe(1);
  const seconds =
    'convoke_request_duration_seconds_bucket{binding="jsonrpc",operation="sendMessage"';
  expect(metrics.get(`${seconds},le="+Inf"}`)).toBe(1);
  expect(metrics.get(`${seconds},le="60"}`)).toBe(1);
});

test("what a caller writes never becomes a label", async () => {
  const { url } = await aServer();
  await rpc(url, "canary-method", { id: "canary-id" });
  await fetch(`${url}canary-path`);
  await fetch(`${url}tasks/canary-task?tenant=canary-tenant`);
  await fetch(`${url}tasks`, { headers: { "x-request-id": "canary-request" } });

  const text = await (await fetch(`${url}metrics`)).text();

  expect(text).not.toContain("canary");
});

test("the format is that of Prometheus", async () => {
  const { url } = await aServer();
  await send(url, "go");

  const answer = await fetch(`${url}metrics`);
  const text = await answer.text();

  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const groups = text.trimEnd().split(/^(?=# HELP )/m);
  const sample = /^[a-z_]+(?:\{[a-z]+="[^"\n]*"(?:,[a-z]+="[^"\n]*")*\})? -?[\d.e+-]+$/;
  for (const group of groups) {
    const [help = "", type = "", ...samples] = group.trimEnd().split("\n");
    const [, name = ""] = /^# HELP ([a-z_]+) \S/.exec(help) ?? [];
    expect(type).toMatch(new RegExp(`^# TYPE ${name} (?:counter|gauge|histogram)$`));
    expect(samples.length).toBeGreaterThan(0);
    for (const line of samples) {
      expect(line).toMatch(sample);
      expect(line.startsWith(name)).toBe(true);
    }
  }
  expect(new Set(groups.map((group) => group.split(" ")[2])).size).toBe(groups.length);
});

test("tasks and streams are counted when they begin and end", async () => {
  const go = Promise.withResolvers<void>();
  const { url } = await aServer(
    {},
    {
      async *run({ text }) {
        yield "a";
        if (text === "wait") await go.promise;
        if (text === "fail") throw new Error("no");
      },
    },
  );
  await send(url, "one");
  await send(url, "fail");
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait" }] };
  const stream = await rpc(url, "SendStreamingMessage", { message });

  const during = await metricsOf(url);
  go.resolve();
  await stream.text();
  const after = await metricsOf(url);

  expect(during.get("convoke_tasks_started_total")).toBe(3);
  expect(during.get('convoke_tasks_ended_total{state="completed"}')).toBe(1);
  expect(during.get('convoke_tasks_ended_total{state="failed"}')).toBe(1);
  expect(during.get("convoke_tasks_unfinished")).toBe(1);
  expect(during.get("convoke_tasks_running")).toBe(1);
  expect(during.get("convoke_open_streams")).toBe(1);
  expect(after.get('convoke_tasks_ended_total{state="completed"}')).toBe(2);
  expect(after.get("convoke_tasks_unfinished")).toBe(0);
  expect(after.get("convoke_open_streams")).toBe(0);
});

test("commits, recovery and the process are measured", async () => {
  const folder = temporaryFolder();
  const asking = { run: async ({ ask }: { ask: (text: string) => Promise<string> }) => ask("?") };
  const definition = { name: "Stored", description: "Is stored.", ...asking };
  const options = { port: 0, data: folder, logger: memoryLogger() };
  const first = await serve(defineAgent(definition), options);
  await send(first.url, "go");
  const metrics = await metricsOf(first.url);
  await first.close();
  const second = await serve(defineAgent(definition), options);
  onTestFinished(() => second.close());

  const recovered = await metricsOf(second.url);

  expect(metrics.get("convoke_commit_duration_seconds_count")).toBeGreaterThanOrEqual(2);
  expect(metrics.get("convoke_commit_steps_sum")).toBeGreaterThanOrEqual(2);
  expect(recovered.get('convoke_recovered_tasks{outcome="waiting"}')).toBe(1);
  expect(recovered.get("convoke_recovery_seconds")).toBeGreaterThan(0);
  expect(recovered.get("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(recovered.get("process_cpu_seconds_total")).toBeGreaterThan(0);
  expect(recovered.has('nodejs_eventloop_lag_seconds{quantile="0.99"}')).toBe(true);
});

test("calls of a model are counted with their tokens and cost", async () => {
  const model = scriptedModel([{ kind: "error", status: 500 }, "Hello."], {
    price: { inputPerMillion: 1, outputPerMillion: 2 },
  });
  const agent = defineAgent({
    name: "Thinker",
    description: "Thinks.",
    model,
    retry: { firstWaitMs: 1 },
  });
  const server = await serve(agent, { port: 0, data: "memory", logger: memoryLogger() });
  onTestFinished(() => server.close());
  await send(server.url, "go");

  const metrics = await metricsOf(server.url);

  const calls = (outcome: string): number | undefined =>
    metrics.get(
      `convoke_model_calls_total{agent="Thinker",model="${model.id}",outcome="${outcome}"}`,
    );
  expect([calls("ok"), calls("unreachable")]).toEqual([1, 1]);
  expect(
    metrics.get(
      `convoke_model_tokens_total{agent="Thinker",model="${model.id}",direction="output"}`,
    ),
  ).toBeGreaterThan(0);
  expect(
    metrics.get(`convoke_model_cost_usd_total{agent="Thinker",model="${model.id}"}`),
  ).toBeGreaterThan(0);
});

test("push deliveries, what waits for delivery, and refused receivers are counted", async () => {
  const { url } = await aServer({
    push: { allow: ["127.0.0.1:9"], backoff: { firstMs: 60_000, longestMs: 60_000 } },
  });
  const pushing = (target: string) => ({
    message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }] },
    configuration: { taskPushNotificationConfig: { url: target } },
  });
  await rpc(url, "SendMessage", pushing("http://10.0.0.7/hook"));
  // Nothing listens there.
  await rpc(url, "SendMessage", pushing("http://127.0.0.1:9/hook"));

  await expect
    .poll(async () => (await metricsOf(url)).get('convoke_push_deliveries_total{outcome="failed"}'))
    .toBe(1);
  const metrics = await metricsOf(url);
  expect(metrics.get('convoke_egress_refused_total{reason="address"}')).toBe(1);
  expect(metrics.get("convoke_push_pending")).toBe(1);
  expect(metrics.get("convoke_push_oldest_pending_seconds")).toBeGreaterThan(0);
});

test("refused requests to sub-agents, and all others of the process, are counted like those to webhooks", async () => {
  const elsewhere = "http://10.0.0.7/";
  // Its card leads to a private address.
  const liar = await startCardServer({});
  const binding = { protocolBinding: "JSONRPC", protocolVersion: "1.0" };
  liar.card = { ...liar.card, supportedInterfaces: [{ ...binding, url: elsewhere }] };
  const boss = defineAgent({
    name: "Boss",
    description: "Passes work on.",
    model: scriptedModel([calls("liar", { message: "do it" }), "It failed."]),
    subAgents: { liar: { url: liar.url, retryForMs: 0 } },
  });
  const server = await serve(boss, { port: 0, data: "memory", logger: memoryLogger() });
  onTestFinished(() => server.close());
  const refused = async (): Promise<number | undefined> =>
    (await metricsOf(server.url)).get('convoke_egress_refused_total{reason="address"}');

  await send(server.url, "go");
  const afterCall = await refused();
  await expect(createEgress().request({ url: elsewhere })).rejects.toThrow("not a public address");

  expect(afterCall).toBe(1);
  expect(await refused()).toBe(2);
});

test("limits that callers reach are counted by name", async () => {
  const { url } = await aServer(
    {
      limits: { openTasks: 1 },
      rateLimits: { read: { limit: 2, windowMs: 3_600_000 } },
      metrics: true,
    },
    { run: never },
  );
  const configuration = { returnImmediately: true };
  const message = (id: string) => ({ messageId: id, role: "ROLE_USER", parts: [{ text: "go" }] });
  await rpc(url, "SendMessage", { message: message("1"), configuration });
  await rpc(url, "SendMessage", { message: message("2"), configuration });
  await fetch(`${url}tasks/x`);

  expect((await metricsOf(url)).get('convoke_limits_reached_total{limit="openTasks"}')).toBe(1);
});

describe("who may read them", () => {
  test("without authentication, everyone on this machine", async () => {
    const { url } = await aServer();

    expect((await fetch(`${url}metrics`)).status).toBe(200);
    expect((await fetch(`${url}metrics`, { method: "POST" })).status).toBe(405);
  });

  test("with authentication, only callers that it accepts", async () => {
    const { url } = await aServer({ token: "secret" });

    expect((await fetch(`${url}metrics`)).status).toBe(401);
    const headers = { authorization: "Bearer secret" };
    expect((await fetch(`${url}metrics`, { headers })).status).toBe(200);
  });

  test("on other addresses nobody, unless they are switched on", async () => {
    const [silent, open] = [
      await aServer({ host: "0.0.0.0", token: "secret" }),
      await aServer({ host: "0.0.0.0", token: "secret", metrics: true }),
    ];
    const headers = { authorization: "Bearer secret" };
    const status = async ({ server }: typeof silent): Promise<number> =>
      (await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers })).status;

    expect([await status(silent), await status(open)]).toEqual([404, 200]);
  });

  test("and nobody if they are switched off", async () => {
    const { url } = await aServer({ metrics: false });

    expect((await fetch(`${url}metrics`)).status).toBe(404);
  });
});

test("the guide names every metric with its labels", () => {
  const guide = readFileSync(new URL("../../docs/guide/operating.md", import.meta.url), "utf8");

  for (const definition of Object.values(METRICS)) {
    const labels: readonly string[] = "labels" in definition ? definition.labels : [];
    const row = guide.split("\n").find((line) => line.startsWith(`| \`${definition.name}\``));
    expect(row, definition.name).toContain(definition.help);
    for (const label of labels) expect(row).toContain(`\`${label}\``);
  }
});
