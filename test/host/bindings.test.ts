import { connect, defineAgent, serve } from "convoke";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { codingAgent } from "../coder-wire/a-coding-agent.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { useServer } from "../wire/wire-server.ts";
import { aDeleter, aTalker, agentAt } from "./three-agents.ts";

const NAMES = { ann: "Ann", bob: "Bob", deleter: "Deleter" };

const server = useServer([aTalker("Ann"), aTalker("Bob"), aDeleter("Deleter")]);

const BOB = agentAt(server, "bob");

interface Card {
  readonly name: string;
  readonly url?: string;
  readonly supportedInterfaces?: readonly unknown[];
}

async function json<Shape>(path: string, init?: RequestInit): Promise<Shape> {
  const response = await fetch(new URL(path, server.url), init);
  expect(response.status, path).toBe(200);
  return (await response.json()) as Shape;
}

describe.each(speakersTo(server))("over $binding $version", ({ binding, version }) => {
  const speakerTo = (peer: { readonly url: string }) =>
    speakersTo(peer).find((one) => one.binding === binding && one.version === version)!;

  test("each agent answers at its path, and the first one at the root", async () => {
    const said = async (peer: { readonly url: string }): Promise<string> =>
      JSON.stringify((await speakerTo(peer).sendTask(aRequest("hello"))).artifacts);

    expect(await said(server)).toContain("Ann remembers 0");
    expect(await said(agentAt(server, "ann"))).toContain("Ann remembers 0");
    expect(await said(BOB)).toContain("Bob remembers 0");
  });

  test("a stream, a subscription and an answer are those of the agent at the path", async () => {
    const bob = speakerTo(BOB);
    const { id: taskId } = await bob.sendTask(aRequest("ask me"));

    const kinds: string[] = [];
    const answered = bob.stream(aRequest(aMessage("Go on", { taskId })));
    for await (const { event } of answered) kinds.push(event.kind);

    expect(kinds).toContain("artifact-update");
    const { artifacts } = await bob.get({ taskId });
    expect(JSON.stringify(artifacts)).toContain("Bob heard Go on.");
  });
});

test("the directory lists the agents with their cards, and says which one is at the root", async () => {
  const directory = await json("/.well-known/agents.json");

  expect(directory).toEqual({
    default: "ann",
    agents: Object.entries(NAMES).map(([id, name]) => ({
      id,
      name,
      description: expect.any(String) as string,
      url: `${server.url}agents/${id}`,
      cardUrl: `${server.url}agents/${id}/.well-known/agent-card.json`,
      skills: [expect.objectContaining({ name }) as object],
    })),
  });
});

test.each(Object.entries(NAMES))(
  "the card of %s has its own name and addresses, at every path of the card",
  async (id, name) => {
    for (const path of [
      `/agents/${id}/.well-known/agent-card.json`,
      `/agents/${id}/.well-known/agent.json`,
      `/api/agents/${id}/agent-card`,
    ]) {
      const card = await json<Card>(path, { headers: { "a2a-version": "1.0" } });

      expect(card.name).toBe(name);
      const url = `${server.url}agents/${id}`;
      expect(card.supportedInterfaces).toMatchObject([
        { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
        // gRPC addresses have no paths, so the agent is a tenant, which 0.3 does not have.
        { url: new URL(server.url).host, protocolBinding: "GRPC", tenant: `agents/${id}` },
        { url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
        { url, protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
      ]);
    }
  },
);

test("the card at the root is that of the first agent, with the addresses of a single agent", async () => {
  const alone = await serve(aTalker("Ann"), { port: 0, data: "memory" });
  const root = await json<Card>("/.well-known/agent-card.json");
  const only = await (await fetch(`${alone.url}.well-known/agent-card.json`)).text();
  await alone.close();

  expect(JSON.stringify(root)).toBe(only.replaceAll(String(alone.port), new URL(server.url).port));
});

test("the client connects to an agent by its path, over every binding of its card", async () => {
  for (const prefer of ["jsonrpc", "rest", "grpc"] as const) {
    const bob = await connect(`${server.url}agents/bob`, { bindings: [prefer] });

    expect((await bob.send("hello")).text).toBe("Bob remembers 0 messages.");
    bob.close();
  }
});

test.each(["", "/", "/.well-known/agent-card.json", "/v1/message:send", "/message:send"])(
  "there is nothing at the path %j of an agent that is not served",
  async (path) => {
    for (const method of ["GET", "POST"]) {
      const response = await fetch(`${server.url}agents/nobody${path}`, { method });

      expect(response.status).toBe(404);
      expect(await response.text()).toContain("/.well-known/agents.json");
    }
  },
);

test("health, metrics and the directory are at the root only", async () => {
  expect(await json("/health")).toEqual({ status: "ok" });
  for (const path of ["health", "metrics", ".well-known/agents.json"]) {
    expect((await fetch(`${server.url}agents/bob/${path}`)).status, path).toBe(404);
  }
});

test("the routes of a coding agent are at its path only", async () => {
  const coder = codingAgent(scriptedModel(["Done."]));
  await using other = await serve([aTalker("Ann"), coder], { port: 0, data: "memory" });
  const [, { id }] = [...other.agents] as [unknown, { readonly id: string }];
  const post = (path: string): Promise<Response> => fetch(other.url + path, { method: "POST" });

  const created = await post(`agents/${id}/tasks`);

  expect(created.status).toBe(201);
  const taskId = (await created.json()) as string;
  const metadata = await fetch(`${other.url}agents/${id}/tasks/${taskId}/metadata`);
  expect(await metadata.json()).toMatchObject({ id: taskId, taskState: "submitted" });
  expect((await fetch(`${other.url}tasks/${taskId}/metadata`)).status).toBe(404);
  expect((await post("agents/ann/tasks")).status).toBe(405);
});

test("an option chooses the agent at the root", async () => {
  const agents = [aTalker("Ann"), aTalker("Bob")];
  await using other = await serve(agents, { port: 0, data: "memory", default: "bob" });
  const card = (await (await fetch(`${other.url}.well-known/agent-card.json`)).json()) as Card;

  expect(card.name).toBe("Bob");
  expect(other.agentId).toBe("bob");
  await expect(serve(agents, { port: 0, data: "memory", default: "eve" })).rejects.toThrow(
    "default must be the id of a served agent (ann, bob), not eve",
  );
});

test.each(["agents", "console", "convoke", ".well-known", "v1"])(
  "a tenant cannot be called %s, which is the beginning of other paths",
  async (tenant) => {
    const agent = defineAgent({ name: "Ann", description: "Greets.", run: () => "hi" });

    await expect(serve(agent, { port: 0, data: "memory", tenants: [tenant] })).rejects.toThrow(
      `tenants must not include ${tenant}`,
    );
  },
);
