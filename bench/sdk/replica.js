// A replica of `@a2a-js/sdk` on Express with its SQL store, set up as its guide to persistent stores
// and its sample of an agent that can be canceled do it.
import { setTimeout as sleep } from "node:timers/promises";
import { AgentCard, TaskState } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler } from "@a2a-js/sdk/server";
import { DatabaseTaskStore } from "@a2a-js/sdk/server/database";
import { UserBuilder, agentCardHandler, jsonRpcHandler } from "@a2a-js/sdk/server/express";
import express from "express";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";

const { DATABASE_URL, PUBLIC_URL, CHUNKS, PAUSE_MS } = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
const store = new DatabaseTaskStore(db);
const card = AgentCard.fromJSON({
  name: "Counter",
  description: "Counts.",
  version: "1.0.0",
  supportedInterfaces: [{ url: PUBLIC_URL, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "count", name: "count", description: "Counts.", tags: ["count"] }],
});

const canceled = new Set();

const executor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const ids = { taskId, contextId };
    const say = (state) => {
      const status = { state, message: undefined, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
    };
    const status = { state: TaskState.TASK_STATE_SUBMITTED, timestamp: new Date().toISOString() };
    const created = { id: taskId, contextId, status, artifacts: [], history: [userMessage] };
    bus.publish(AgentEvent.task(task ?? created));
    say(TaskState.TASK_STATE_WORKING);
    for (let number = 1; number <= Number(CHUNKS); number++) {
      if (canceled.has(taskId)) {
        say(TaskState.TASK_STATE_CANCELED);
        return bus.finished();
      }
      const content = { $case: "text", value: `${number} ` };
      const part = { content, metadata: undefined, filename: "", mediaType: "" };
      const artifact = { artifactId: "count", name: "", description: "", parts: [part] };
      const flags = { append: number > 1, lastChunk: number === Number(CHUNKS) };
      bus.publish(
        AgentEvent.artifactUpdate({
          ...ids,
          artifact: { ...artifact, metadata: undefined, extensions: [] },
          ...flags,
          metadata: undefined,
        }),
      );
      console.log("chunk");
      await sleep(Number(PAUSE_MS));
    }
    say(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  cancelTask: async (taskId) => {
    console.log("canceled");
    canceled.add(taskId);
  },
};

const requestHandler = new DefaultRequestHandler(card, store, executor);
const userBuilder = UserBuilder.noAuthentication;
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/", jsonRpcHandler({ requestHandler, userBuilder }));
const server = app.listen(0, "127.0.0.1", () => {
  console.log(`ready http://127.0.0.1:${server.address().port}`);
});
// Ends with the process that started it.
process.stdin.on("end", () => process.exit()).resume();
