import { randomUUID } from "node:crypto";
import type { AgentCard, TaskStatusUpdateEvent } from "a2a-sdk-v03";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from "a2a-sdk-v03/server";
import { UserBuilder, jsonRpcHandler } from "a2a-sdk-v03/server/express";
import express from "express";
import { gateOpened } from "./control.ts";
import { listen } from "./listen.ts";
import { QUESTION, chunkText, parseOrder, pauseAfterChunk } from "./order.ts";
import { sdkListener } from "./sdk-listener.ts";

/** `@a2a-js/sdk` 0.3.14 with its memory store, behind its Express adapter if BENCH_EXPRESS is set. */
const card: AgentCard = {
  name: "Bench",
  description: "Does what the message says.",
  version: "1.0.0",
  protocolVersion: "0.3.0",
  url: "http://127.0.0.1/",
  preferredTransport: "JSONRPC",
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
};

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const [part] = userMessage.parts;
    const order = parseOrder(part?.kind === "text" ? part.text : "");
    const ids = { taskId, contextId };
    const status = (state: TaskStatusUpdateEvent["status"]["state"], final: boolean) =>
      bus.publish({
        kind: "status-update",
        ...ids,
        status: { state, timestamp: new Date().toISOString(), ...(final && asked(state)) },
        final,
      });
    const chunk = (text: string, flags: { append: boolean; lastChunk?: boolean }) =>
      bus.publish({
        kind: "artifact-update",
        ...ids,
        artifact: { artifactId: "answer-1", parts: [{ kind: "text", text }] },
        ...flags,
      });
    if (task === undefined) {
      const submitted = { state: "submitted", timestamp: new Date().toISOString() } as const;
      bus.publish({
        kind: "task",
        id: taskId,
        contextId,
        status: submitted,
        history: [userMessage],
      });
    }
    status("working", false);
    if (order.manner === "ask") {
      status("input-required", true);
      return bus.finished();
    }
    if (order.gated === true) await gateOpened();
    for (let place = 0; place < order.count; place++) {
      chunk(chunkText(place), { append: place > 0 });
      const pause = pauseAfterChunk(order);
      if (pause !== undefined) await pause;
    }
    chunk("", { append: true, lastChunk: true });
    status("completed", true);
    bus.finished();
  },
  cancelTask: async () => undefined,
};

/** The message of a status that asks a question. */
function asked(state: string): Partial<TaskStatusUpdateEvent["status"]> {
  if (state !== "input-required") return {};
  const parts = [{ kind: "text", text: QUESTION } as const];
  return { message: { kind: "message", messageId: randomUUID(), role: "agent", parts } };
}

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
if (process.env["BENCH_EXPRESS"] === undefined) {
  const handler = new JsonRpcTransportHandler(requestHandler);
  listen(sdkListener((body) => handler.handle(body, new ServerCallContext())));
} else {
  const userBuilder = UserBuilder.noAuthentication;
  listen(express().use(jsonRpcHandler({ requestHandler, userBuilder })));
}
