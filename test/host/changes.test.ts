import { type Agent, type AgentServer, connect, defineAgent, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { CODECS, type Message } from "@convoke/protocol";
import type { Speaker, Told } from "../conformance/speaker.ts";
import { jsonRpcSpeaker } from "../conformance/speakers.ts";
import { aTalker } from "./three-agents.ts";

/** Works until it is told to finish, and says which edition of it has worked. */
class Gate {
  readonly #opened = Promise.withResolvers<void>();
  disposals = 0;

  open(): void {
    this.#opened.resolve();
  }

  agent(edition: string): Agent {
    const opened = this.#opened.promise;
    const agent = defineAgent({
      name: "Worker",
      description: `Works, ${edition}.`,
      async *run({ step, ask, text }) {
        yield "begun, ";
        if (text === "ask") yield `${edition} heard ${await ask("Go on?")}, `;
        if (text === "wait") await step("wait", () => opened, { idempotent: true });
        yield `done by ${edition}`;
      },
    });
    return {
      info: agent.info,
      run: (turn) => agent.run(turn),
      [Symbol.asyncDispose]: async () => void this.disposals++,
    };
  }
}

let server: AgentServer;

beforeAll(async () => {
  server = await serve([aTalker("Ann")], { port: 0, data: "memory" });
});

afterAll(() => server.close());

const worker = (): Speaker =>
  jsonRpcSpeaker({ url: new URL("agents/worker/", server.url).href }, "1.0");

/** Adds the worker for the duration of a test. */
async function addWorker(gate: Gate, edition = "the first"): Promise<void> {
  await server.agents.add(gate.agent(edition));
  onTestFinished(() => server.agents.remove("worker"));
}

/** Starts a task, and waits until the agent works on it. */
async function started(text: string): Promise<string> {
  const { id: taskId } = await worker().sendTask(aRequest(text, { blocking: false }));
  await expect.poll(async () => JSON.stringify(await worker().get({ taskId }))).toContain("begun");
  return taskId;
}

const textOf = async (taskId: string): Promise<string> =>
  JSON.stringify((await worker().get({ taskId })).artifacts);

const status = async (path: string): Promise<number> =>
  (await fetch(new URL(path, server.url))).status;

/** Sends a message, and returns the response as text. */
async function post(message: Message): Promise<string> {
  const params = CODECS["1.0"].encodeSendMessage(aRequest(message));
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params });
  const headers = { "content-type": "application/json" };
  const response = await fetch(new URL("agents/worker", server.url), {
    method: "POST",
    headers,
    body,
  });
  return response.text();
}

const CARD = "agents/worker/.well-known/agent-card.json";

test("an agent that is added answers at once, and is listed", async () => {
  expect(await status(CARD)).toBe(404);
  await addWorker(new Gate());

  expect(await status(CARD)).toBe(200);
  const { artifacts } = await worker().sendTask(aRequest("go"));
  expect(JSON.stringify(artifacts)).toContain("done by the first");
  expect([...server.agents].map(({ id }) => id)).toEqual(["ann", "worker"]);
  await expect(server.agents.add(new Gate().agent("another"))).rejects.toThrow(
    'the agents "Worker" and "Worker" have the same id "worker"',
  );
});

describe("an agent that is replaced", () => {
  test("finishes its running turns, and new turns use the new definition", async () => {
    const old = new Gate();
    await addWorker(old);
    const running = await started("wait");
    const asking = (await worker().sendTask(aRequest("ask"))).id;

    const gate = new Gate();
    await server.agents.replace(gate.agent("the second"));
    const next = await worker().sendTask(aRequest("go"));
    expect(JSON.stringify(next.artifacts)).toContain("done by the second");
    expect(old.disposals).toBe(0);

    old.open();
    await expect.poll(() => textOf(running)).toContain("done by the first");
    expect(old.disposals).toBe(0);
    await worker().sendTask(aRequest(aMessage("yes", { taskId: asking })));
    expect(await textOf(asking)).toContain("the first heard yes");
    await expect.poll(() => old.disposals).toBe(1);
    expect(gate.disposals).toBe(0);
  });

  test("has the card of the new definition at once", async () => {
    await addWorker(new Gate());
    await server.agents.replace(new Gate().agent("the second"));

    const card = await (await fetch(new URL(CARD, server.url))).text();
    expect(card).toContain("Works, the second.");
  });

  test("has to be there", async () => {
    await expect(server.agents.replace(new Gate().agent("the first"))).rejects.toThrow(
      'there is no agent "worker" here; there are ann',
    );
  });
});

test("an agent that is disabled accepts no new tasks, and its running ones go on", async () => {
  const gate = new Gate();
  await addWorker(gate);
  const running = await started("wait");
  const asking = (await worker().sendTask(aRequest("ask"))).id;

  server.agents.disable("worker");

  expect(await status(CARD)).toBe(503);
  expect(await post(aMessage("go"))).toContain("is disabled and accepts no new tasks; try again");
  const directory = await fetch(new URL(".well-known/agents.json", server.url));
  expect(await directory.text()).not.toContain("worker");
  await worker().sendTask(aRequest(aMessage("yes", { taskId: asking })));
  expect(await textOf(asking)).toContain("heard yes");
  gate.open();
  await expect.poll(() => textOf(running)).toContain("done by the first");

  server.agents.enable("worker");
  expect(await status(CARD)).toBe(200);
  expect((await worker().sendTask(aRequest("go"))).status.state).toBe("completed");
});

describe("an agent that is removed", () => {
  test("is not there any more, and its unfinished tasks continue when it is added again", async () => {
    const gate = new Gate();
    await server.agents.add(gate.agent("the first"));
    const running = await started("wait");
    const asking = (await worker().sendTask(aRequest("ask"))).id;
    const waiting = post(aMessage("wait"));
    await expect.poll(async () => (await worker().list({ state: "working" })).totalSize).toBe(2);

    await server.agents.remove("worker");
    expect(await waiting).toContain("the task is kept, send the same message again");
    expect(await status(CARD)).toBe(404);
    expect(gate.disposals).toBe(1);
    gate.open();

    const next = new Gate();
    next.open();
    await addWorker(next, "the second");
    await expect.poll(() => textOf(running)).toContain("done by the second");
    await worker().sendTask(aRequest(aMessage("yes", { taskId: asking })));
    expect(await textOf(asking)).toContain("the second heard yes");
  });

  test("ends its streams, and a client that resumes later misses nothing", async () => {
    await server.agents.add(new Gate().agent("the first"));
    const taskId = await started("wait");
    const stream = worker().subscribe({ taskId }, { lastEventId: "0" });
    const seen = [(await stream.next()).value as Told];

    await server.agents.remove("worker");
    for await (const told of stream) seen.push(told);
    const next = new Gate();
    next.open();
    await addWorker(next, "the second");
    const last = seen.at(-1)!.id;
    const rest: Told[] = [];
    for await (const told of worker().subscribe({ taskId }, { lastEventId: last })) rest.push(told);

    const events = JSON.stringify([...seen, ...rest]);
    expect(events).toContain("begun, ");
    expect(events).toContain("done by the second");
    expect(Number(rest[0]!.id)).toBeGreaterThan(Number(last));
  });

  test("cannot be the one at the root", async () => {
    await expect(server.agents.remove("ann")).rejects.toThrow(
      'the agent "ann" answers at the root and cannot be removed; disable or replace it',
    );
  });
});

test("no task and no stream is lost while agents are replaced, disabled and added again", async () => {
  await addWorker(new Gate(), "edition 0");
  const remote = await connect(new URL("agents/worker", server.url).href);
  const sent = Array.from({ length: 30 }, async (_, index) => {
    const { text } = await remote.stream(`go ${index}`).result;
    return text;
  });

  for (let edition = 1; edition <= 10; edition++) {
    await server.agents.replace(new Gate().agent(`edition ${edition}`));
    server.agents.disable("worker");
    server.agents.enable("worker");
  }

  for (const text of await Promise.all(sent)) expect(text).toMatch(/^begun, done by edition \d+$/);
  remote.close();
});

test("a server that was started with a single agent rejects changes, but can disable it", async () => {
  await using single = await serve(aTalker("Ann"), { port: 0, data: "memory" });

  await expect(single.agents.add(aTalker("Bob"))).rejects.toThrow("start it with a list");
  await expect(single.agents.replace(aTalker("Ann"))).rejects.toThrow("start it with a list");
  single.agents.disable("ann");
  expect((await fetch(`${single.url}.well-known/agent-card.json`)).status).toBe(503);
});
