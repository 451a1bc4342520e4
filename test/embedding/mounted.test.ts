import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MountAgentOptions, type Mounted, connect, mount, serve } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { expect, onTestFinished, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

const CARD = "http://localhost/.well-known/agent-card.json";

async function mounting(options: MountAgentOptions = {}): Promise<Mounted> {
  const mounted = await mount(demoAgent, { data: "memory", ...options });
  onTestFinished(() => mounted.close());
  return mounted;
}

function connecting({ fetch }: Pick<Mounted, "fetch">) {
  return connect("http://localhost/", { fetch: (input, init) => fetch(new Request(input, init)) });
}

async function streaming(mounted: Mounted, messageId: string): Promise<ReadableStream<Uint8Array>> {
  const message = { messageId, role: "user", parts: [{ kind: "text", text: "slow 500" }] };
  const params = { message };
  const { body } = await mounted.fetch(
    new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/stream", params }),
    }),
  );
  return body!;
}

test("an agent can be called without a port", async () => {
  const agent = await connecting(await mounting());

  const { task } = await agent.send("slow 3");

  expect(task?.status.state).toBe("completed");
  expect(agent.url).toBe("http://localhost/");
});

test("a server with a port can also be called without it", async () => {
  await using server = await serve(demoAgent, { port: 0, data: "memory" });

  const agent = await connecting(server);
  const throughPort = await connect(server.url);

  const { task } = await agent.send("hello");
  expect((await throughPort.get(task!.id)).id).toBe(task!.id);
});

test("the card has the scheme that the agent was reached with, TLS or not", async () => {
  const mounted = await mounting({ allowedHosts: ["app.example"], basePath: "/agent" });

  const answer = await mounted.fetch(
    new Request("https://app.example/agent/.well-known/agent-card.json"),
  );

  expect(await answer.json()).toMatchObject({ url: "https://app.example/agent" });
});

test("the card has the URL that a trusted proxy was reached with, including the path", async () => {
  const mounted = await mounting({
    allowedHosts: ["app.example"],
    basePath: "/agent",
    trustProxy: true,
  });

  const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "app.example" };
  const answer = await mounted.fetch(
    new Request("http://localhost/agent/.well-known/agent-card.json", { headers }),
  );

  expect(await answer.json()).toMatchObject({ url: "https://app.example/agent" });
});

test("the public URL is used unchanged, and its host is accepted", async () => {
  const mounted = await mounting({ publicUrl: "https://app.example/my/agent/" });

  const answer = await mounted.fetch(new Request(CARD.replace("localhost", "app.example")));
  const foreign = await mounted.fetch(new Request(CARD.replace("localhost", "evil.example")));

  expect(await answer.json()).toMatchObject({ url: "https://app.example/my/agent" });
  expect(foreign.status).toBe(403);
});

test("after close, readers are asked to reconnect and callers to retry", async () => {
  const mounted = await mounting();
  const reader = (await streaming(mounted, "m1")).getReader();
  const read = [(await reader.read()).value!];

  await mounted.close();

  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    read.push(value);
  }
  const late = await mounted.fetch(new Request(CARD));
  expect(String(Buffer.concat(read))).toContain("\nretry: 1000\n");
  expect(late.status).toBe(503);
  expect(late.headers.get("retry-after")).toBe("1");
});

test("a stream that is read only after close reports that it has ended", async () => {
  const mounted = await mounting();
  const stream = await streaming(mounted, "m1");

  await mounted.close();

  expect(await new Response(stream).text()).toMatch(/^retry: 1000\n/);
});

test("unfinished tasks resume when the app starts again", async () => {
  const data = await mkdtemp(join(tmpdir(), "convoke-mounted-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const first = await mount(demoAgent, { data });
  const { task } = await (await connecting(first)).send("ask");
  await first.close();

  const second = await mounting({ data });
  const agent = await connecting(second);

  expect(second.recovered).toMatchObject({ waiting: 1 });
  expect((await agent.send("Ann", { taskId: task!.id })).text).toBe("Hello, Ann!");
});

test.each([
  [{ basePath: "agent" }, "basePath must be a path from the root"],
  [{ publicUrl: "app.example" }, "publicUrl must be an http or https address"],
  [{ cors: { origins: ["app.example"] } }, "(cors.origins)"],
  [{ limits: { parts: 0 } }, "limits.parts must be a whole number"],
  [{ tenants: ["v1"] }, "tenants must not include v1"],
  [{ tenants: ["acme", "convoke"] }, "tenants must not include convoke"],
] as const)("%j is rejected before anything is opened", async (options, problem) => {
  await expect(mount(demoAgent, { data: "/dev/null/nowhere", ...options })).rejects.toThrow(
    problem,
  );
});

test("an agent that every page can use without a token logs a warning", async () => {
  const lines: string[] = [];
  const logger = createJsonLogger("warn", (line) => lines.push(line));

  await mounting({ logger, cors: { origins: ["*"] }, token: "s3cret" });
  expect(lines).toEqual([]);

  await mounting({ logger, cors: { origins: ["*"] } });
  expect(lines.join("")).toContain("every web page can use this agent");
});
