import { randomUUID } from "node:crypto";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { Client, servedAgent } from "../approvals/a-served-agent.ts";
import { CLIENT_TOOLS, READ_FILE, declaring } from "../client-tools/a-caller.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { DECLARED_TWICE, fetchBelow, runSample } from "./run-sample.ts";

/** An event as the samples read it. */
interface SampleEvent {
  readonly kind: string;
  readonly final?: boolean;
  readonly status?: { readonly state: string };
}

function aMessage(text: string, fields: object = {}): object {
  const parts = [{ kind: "text", text }];
  return { kind: "message", role: "user", messageId: randomUUID(), parts, ...fields };
}

/** What a sample wrote to its console. */
function aConsole() {
  const lines: unknown[][] = [];
  const write = (...words: unknown[]): void => void lines.push(words);
  return { lines, console: { log: write, warn: write } };
}

async function collect(events: AsyncIterable<SampleEvent>): Promise<readonly SampleEvent[]> {
  const collected: SampleEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

describe("the REST client of the user documents", () => {
  const server = useServer(demoAgent, { token: "token-123", restFrames: "both" });

  interface SampleClient {
    streamMessage(params: object): AsyncIterable<SampleEvent>;
    sendMessage(params: object): Promise<SampleEvent>;
  }

  interface RestSample {
    readonly A2AClientImpl: new (baseUrl: string, token: string) => SampleClient;
    readonly example: () => Promise<void>;
  }

  async function aSample(baseUrl = server.url.replace(/\/$/, "")) {
    const { lines, console } = aConsole();
    const surroundings = {
      console,
      uuidv4: randomUUID,
      fetch: (url: string, init: RequestInit) =>
        fetch(url.replace("https://agent.example.com", baseUrl), init),
    };
    const names = ["A2AClientImpl", "example"] as const;
    const sample = await runSample<RestSample>("rest-client", surroundings, names, DECLARED_TWICE);
    return { lines, sample, client: (token: string) => new sample.A2AClientImpl(baseUrl, token) };
  }

  verifies(["seed-C7", "R21", "R22", "R23"], "streams the task, its work and its end", async () => {
    const { client, lines } = await aSample();

    const events = await collect(
      client("token-123").streamMessage({ message: aMessage("slow 3") }),
    );

    expect(events.map(({ kind }) => kind)).toEqual([
      "task",
      "status-update",
      "artifact-update",
      "artifact-update",
      "artifact-update",
      "status-update",
    ]);
    expect(events.at(-1)).toMatchObject({ final: true, status: { state: "completed" } });
    expect(lines).toEqual([]);
  });

  verifies(["seed-C7", "R8"], "runs its own example", async () => {
    const { sample, lines } = await aSample();

    await sample.example();

    expect(lines[0]).toEqual(["Task started:", expect.any(String)]);
    expect(lines).toContainEqual(["Status:", "completed"]);
    expect(lines.at(-1)).toEqual(["Result:", expect.objectContaining({ kind: "task" })]);
  });

  verifies(["R29", "R114"], "reads why it was rejected", async () => {
    const { client } = await aSample();
    const stream = (token: string, message: object) =>
      collect(client(token).streamMessage({ message }));

    await expect(stream("wrong", aMessage("hello"))).rejects.toThrow("HTTP 401: Unauthorized: ");
    await expect(stream("token-123", { role: "user" })).rejects.toThrow(
      "HTTP 400: Invalid parameters: message.messageId is required",
    );
    await expect(stream("token-123", aMessage("hi", { taskId: "nobody" }))).rejects.toThrow(
      "HTTP 404: Task not found: ",
    );
    await expect(client("wrong").sendMessage({ message: aMessage("hello") })).rejects.toThrow(
      "HTTP 401: Unauthorized: ",
    );
    await expect(client("token-123").sendMessage({ message: {} })).rejects.toThrow(
      "Invalid parameters: message.messageId is required",
    );
  });
});

describe("the JSON-RPC client of the user documents", () => {
  const server = useServer();

  interface RpcSample {
    readonly streamMessage: (message: object) => AsyncIterable<SampleEvent>;
    readonly example: () => Promise<void>;
  }

  async function aSample() {
    const { lines, console } = aConsole();
    const surroundings = { console, fetch: fetchBelow(server.url) };
    const names = ["streamMessage", "example"] as const;
    return { lines, ...(await runSample<RpcSample>("rpc-client", surroundings, names)) };
  }

  verifies(["R32", "R34", "R37", "R40"], "streams the task, its work and its end", async () => {
    const { streamMessage, example, lines } = await aSample();

    const events = await collect(streamMessage(aMessage("hello")));
    await example();

    expect(events[0]).toMatchObject({ kind: "task", status: { state: "submitted" } });
    expect(events.at(-1)).toMatchObject({ final: true, status: { state: "completed" } });
    expect(lines).toContainEqual(["Status:", "completed"]);
  });

  test("reads why it was rejected", async () => {
    const { streamMessage } = await aSample();

    await expect(collect(streamMessage({ kind: "task" }))).rejects.toThrow(
      "Invalid parameters: message.messageId is required",
    );
    await expect(collect(streamMessage(aMessage("hi", { taskId: "nobody" })))).rejects.toThrow(
      "Task not found: ",
    );
  });
});

verifies(
  ["seed-C20", "R58"],
  "the user documents' code for a question answers the pending request",
  async () => {
    const model = scriptedModel([calls("read_file", { path: "notes.txt" }), "Done."]);
    const agent = await servedAgent({ model });
    const client = new Client(agent, { "x-a2a-extensions": CLIENT_TOOLS });
    const { id: taskId, status } = await client.send("go", declaring(READ_FILE));
    const requests: unknown[] = [];
    const { handleInputRequired } = await runSample<{
      readonly handleInputRequired: (event: object) => Promise<void>;
    }>(
      "input-answer",
      {
        fetch: fetchBelow(agent.url),
        generateId: randomUUID,
        executeClientTool: async (request: unknown) => {
          requests.push(request);
          return { value: "buy milk" };
        },
      },
      ["handleInputRequired"],
    );

    await handleInputRequired({ result: { taskId, status } });

    expect(requests).toMatchObject([{ kind: "input-request", name: "read_file" }]);
    await expect
      .poll(() => client.get(taskId), { timeout: 20_000 })
      .toMatchObject({ id: taskId, status: { state: "completed" } });
    expect(resultsTold(model.requests)).toEqual([{ value: "buy milk" }]);
  },
);
