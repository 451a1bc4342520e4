import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type RemoteAgent, connect } from "@convoke/client";
import express, { Router } from "express";
import { Observable, of } from "rxjs";
import { expect, onTestFinished } from "vitest";
import { verifies } from "../verifies.ts";
import { runSample } from "./run-sample.ts";

type AppRouter = ReturnType<typeof Router>;

interface ServerSample {
  readonly router: AppRouter;
}

/** The JSON-RPC server of the user documents, with the parts that they omit. */
async function rpcRouter(): Promise<AppRouter> {
  const surroundings = {
    Router,
    Observable,
    generateTaskId: randomUUID,
    generateContextId: randomUUID,
    generateId: randomUUID,
    handleTasksGet: () => undefined,
  };
  return (await runSample<ServerSample>("rpc-server", surroundings, ["router"])).router;
}

/** The REST server of the user documents, with the loop that they omit. */
async function restRouter(): Promise<AppRouter> {
  const chunk = { type: "artifact-chunk", artifactId: "a1", append: false, lastChunk: true };
  class AgentLoop {
    readonly invoke = () =>
      of({ type: "status-update", state: "working" }, { ...chunk, chunk: "42" });
    readonly cancel = () => undefined;
  }
  const surroundings = { Router, AgentLoop, uuidv4: randomUUID };
  return (await runSample<ServerSample>("rest-server", surroundings, ["router"])).router;
}

/** An Express app with both servers, and a card, which they do not have. */
async function anApp(main: Transport): Promise<string> {
  const app = express().use(express.json(), await rpcRouter(), await restRouter());
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const urls = { JSONRPC: `${url}/api/a2a`, "HTTP+JSON": url };
  const card = {
    protocolVersion: "0.3.0",
    name: "Sample",
    description: "The servers of a user document.",
    version: "1.0.0",
    url: urls[main],
    preferredTransport: main,
    additionalInterfaces: TRANSPORTS.map((transport) => ({ transport, url: urls[transport] })),
    capabilities: { streaming: true },
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [],
  };
  app.get("/.well-known/agent-card.json", (_, response) => void response.json(card));
  return url;
}

const TRANSPORTS = ["JSONRPC", "HTTP+JSON"] as const;

type Transport = (typeof TRANSPORTS)[number];

const ANSWERS: Readonly<Record<Transport, string>> = {
  JSONRPC: "Result content here...",
  "HTTP+JSON": "42",
};

const BINDINGS = { JSONRPC: "jsonrpc", "HTTP+JSON": "rest" } as const;

/** Via the transport that the card prefers, or a given one. */
async function connectTo(url: string, transport?: Transport): Promise<RemoteAgent> {
  const agent = await connect(url, transport && { bindings: [BINDINGS[transport]] });
  onTestFinished(() => agent.close());
  return agent;
}

for (const main of TRANSPORTS) {
  verifies(
    ["seed-C3", "seed-C7", "v03-C1"],
    `our client streams from the servers of the user documents, via ${main} if the card prefers it`,
    async () => {
      const url = await anApp(main);

      for (const [agent, binding] of [
        [await connectTo(url), main],
        ...(await Promise.all(
          TRANSPORTS.map(async (one) => [await connectTo(url, one), one] as const),
        )),
      ] as const) {
        const run = agent.stream("Hello!");
        const kinds: string[] = [];
        for await (const event of run) kinds.push(event.kind);
        const { text, task } = await run.result;

        expect(agent).toMatchObject({ version: "0.3", binding });
        expect(kinds).toEqual(["task", "status-update", "artifact-update", "status-update"]);
        expect(text).toBe(ANSWERS[binding]);
        expect(task?.status.state).toBe("completed");
      }
    },
  );
}
