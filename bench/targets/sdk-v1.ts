import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type AgentCard, type Message, type Part, Role, TaskState } from "a2a-sdk-v1";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  type TaskStore,
} from "a2a-sdk-v1/server";
import { UserBuilder, jsonRpcHandler } from "a2a-sdk-v1/server/express";
import express from "express";
import { installProject } from "../../test/harness/install-project.ts";
import { gateOpened } from "./control.ts";
import { listen } from "./listen.ts";
import { QUESTION, chunkText, parseOrder, pauseAfterChunk } from "./order.ts";
import { sdkListener } from "./sdk-listener.ts";

/**
 * `@a2a-js/sdk` 1.3.0, behind its Express adapter if BENCH_EXPRESS is set. Its tasks are in memory, or
 * in the SQLite file BENCH_SQL_FILE.
 */
const card: AgentCard = {
  name: "Bench",
  description: "Does what the message says.",
  version: "1.0.0",
  supportedInterfaces: [
    { url: "http://127.0.0.1/", protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" },
  ],
  provider: undefined,
  capabilities: { streaming: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const content = userMessage.parts[0]?.content;
    const order = parseOrder(content?.$case === "text" ? content.value : "");
    const ids = { taskId, contextId };
    const status = (state: TaskState, message?: Message) =>
      bus.publish(
        AgentEvent.statusUpdate({
          ...ids,
          status: { state, message, timestamp: new Date().toISOString() },
          metadata: undefined,
        }),
      );
    const chunk = (text: string, flags: { append: boolean; lastChunk: boolean }) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          ...ids,
          artifact: { ...ARTIFACT, parts: [textPart(text)] },
          ...flags,
          metadata: undefined,
        }),
      );
    const timestamp = new Date().toISOString();
    const submitted = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp };
    const created = { artifacts: [], history: [userMessage], metadata: undefined };
    // Every turn must start with the task.
    bus.publish(AgentEvent.task(task ?? { id: taskId, contextId, status: submitted, ...created }));
    status(TaskState.TASK_STATE_WORKING);
    if (order.manner === "ask") {
      status(TaskState.TASK_STATE_INPUT_REQUIRED, question(ids));
      return bus.finished();
    }
    if (order.gated === true) await gateOpened();
    for (let place = 0; place < order.count; place++) {
      chunk(chunkText(place), { append: place > 0, lastChunk: false });
      const pause = pauseAfterChunk(order);
      if (pause !== undefined) await pause;
    }
    chunk("", { append: true, lastChunk: true });
    status(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  cancelTask: async () => undefined,
};

const ARTIFACT = {
  artifactId: "answer-1",
  name: "",
  description: "",
  metadata: undefined,
  extensions: [],
};

function textPart(text: string): Part {
  const content = { $case: "text", value: text } as const;
  return { content, metadata: undefined, filename: "", mediaType: "" };
}

function question(ids: { readonly taskId: string; readonly contextId: string }): Message {
  const facts = { metadata: undefined, extensions: [], referenceTaskIds: [] };
  const parts = [textPart(QUESTION)];
  return { messageId: randomUUID(), role: Role.ROLE_AGENT, parts, ...ids, ...facts };
}

/** Its SQL store, whose packages are in a folder of their own: they are no part of the workspace. */
async function sqlStore(file: string): Promise<TaskStore> {
  const folder = fileURLToPath(new URL("../sdk", import.meta.url));
  await installProject(folder);
  const { sqliteStore } = (await import(join(folder, "sqlite-store.js"))) as {
    readonly sqliteStore: (file: string) => TaskStore;
  };
  return sqliteStore(file);
}

const { BENCH_SQL_FILE: file } = process.env;
const store = file === undefined ? new InMemoryTaskStore() : await sqlStore(file);
const requestHandler = new DefaultRequestHandler(card, store, executor);
if (process.env["BENCH_EXPRESS"] === undefined) {
  const handler = new JsonRpcTransportHandler(requestHandler);
  const context = (): ServerCallContext => new ServerCallContext({ requestedVersion: "1.0" });
  listen(sdkListener((body) => handler.handle(body as Record<string, unknown>, context())));
} else {
  const userBuilder = UserBuilder.noAuthentication;
  listen(express().use(jsonRpcHandler({ requestHandler, userBuilder })));
}
