import { randomUUID } from "node:crypto";
import { type Probe, may, must, should } from "./probe.ts";
import { isObject } from "@convoke/protocol/internal";
import { withValueAt } from "../wire/json.ts";
import { parseResult } from "../scene/observed.ts";
import {
  UNKNOWN_TASK,
  askingTask,
  finishedTask,
  isAtRest,
  keepOrdinaryResult,
  ordinaryResult,
  sendForTask,
  slowText,
} from "../scene/fixtures.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import type { Scene } from "../scene/scene.ts";

/** Runs first at each interface. If it does not pass, most other probes are skipped. */
export const GATE_PROBE: Probe = {
  name: "answers",
  says: "The interface that the card declares answers in that binding and version.",
  claims: [must("v1-S2", "§5.2, §8.3"), must("v03-S3", "§5.6")],
  async run(scene) {
    const params = scene.requests.send(scene.settings.message);
    const response = await scene.call("sendMessage", params);
    if (response.kind === "result") return keepOrdinaryResult(scene, response);
    const { reason, http } = response.error;
    if (reason === "Unauthenticated" || reason === "Forbidden")
      throw new Skipped(credentials(scene));
    const isElsewhere = reason === "MethodNotFound" || reason === "VersionNotSupported";
    const isStranger = http !== undefined && !isObject(response.body);
    if (isElsewhere || isStranger || http === 404 || http === 405 || response.error.grpc === 12) {
      throw new Failed("a response to the ordinary message", response.exchange);
    }
    throw new Skipped(
      "the agent rejects the ordinary message; choose a text that it accepts (option: message)",
    );
  },
};

function credentials({ settings }: Scene): string {
  const has = Object.keys(settings.credentials).length > 0;
  return has
    ? "the server rejects the credentials (option: credentials)"
    : "the server requires credentials (option: credentials)";
}

/** Far more than a response takes that waits for nothing. */
const IMMEDIATE_MS = 2000;

/** What a send returns, and when. */
export const SENDING: readonly Probe[] = [
  {
    name: "send",
    says: "The result of a send is either a task or a message.",
    claims: [must("v1-S8", "§3.1.1"), must("v03-S4", "§7.1")],
    async run(scene) {
      await ordinaryResult(scene);
    },
  },
  {
    name: "waits",
    says: "A send blocks by default until the task is finished or interrupted.",
    claims: [must("v1-S11", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const { value, exchange } = await ordinaryResult(scene);
      if (value.kind === "message") throw new Skipped("the agent answers with a message");
      if (!isAtRest(value)) throw new Failed("a task that is finished or interrupted", exchange);
    },
  },
  {
    name: "waits-long",
    says: "A blocking send also waits for an agent that takes long.",
    claims: [must("v1-S11", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const { value, exchange } = await sendForTask(scene, await slowText(scene));
      if (!isAtRest(value)) throw new Failed("a task that is finished or interrupted", exchange);
    },
  },
  {
    name: "returns-at-once",
    says: "A non-blocking send returns as soon as the task exists.",
    claims: [must("v1-S12", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const text = await slowText(scene);
      const { value, exchange } = await sendForTask(scene, text, {}, { blocking: false });
      if (!isAtRest(value)) return;
      throw new Failed("a task in progress", exchange);
    },
  },
  {
    name: "returns-quickly",
    says: "A non-blocking send does not wait for the first output of the agent.",
    claims: [must("v1-S12", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const text = await slowText(scene);
      const started = performance.now();
      const { exchange } = await sendForTask(scene, text, {}, { blocking: false });
      const elapsed = performance.now() - started;
      if (elapsed > IMMEDIATE_MS)
        throw new Failed(
          `a response within ${IMMEDIATE_MS} ms, not ${Math.round(elapsed)} ms`,
          exchange,
        );
    },
  },
  {
    name: "waits-by-default",
    says: "A send whose configuration does not mention blocking blocks.",
    claims: [may("v03-S4", "§7.1.1")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const params = withValueAt(scene.requests.send(await slowText(scene)), ["configuration"], {
        acceptedOutputModes: ["text/plain"],
      });
      const { result, exchange } = await scene.expectResult(
        scene.call("sendMessage", params),
        "a task",
      );
      const value = parseResult(result);
      if (value?.kind !== "task" || isAtRest(value)) return;
      throw new Failed("a task that is finished or interrupted", exchange);
    },
  },
  {
    name: "own-ids",
    says: "The server gives each task its own id.",
    claims: [must("v1-S35", "§3.4.2"), must("v03-S4", "§6.1")],
    async run(scene) {
      const { value: first } = await ordinaryResult(scene);
      if (first.kind === "message") throw new Skipped("the agent answers with a message");
      const { value, exchange } = await sendForTask(scene, scene.settings.message);
      if (value.taskId !== first.taskId) return;
      throw new Failed(`a task other than ${first.taskId}`, exchange);
    },
  },
  {
    name: "reused-id",
    says: "A message with the messageId of another message is not rejected for it.",
    claims: [should("v1-S8", "§3.1.1, §3.3.1"), should("v03-S4", "§7.1")],
    async run(scene) {
      const messageId = randomUUID();
      const { message } = scene.settings;
      await sendForTask(scene, message, { messageId });
      const params = scene.requests.send(`${message} again`, { messageId });
      await scene.expectResult(scene.call("sendMessage", params), "a task or a message");
    },
  },
  {
    name: "context",
    says: "The result has a contextId generated by the server.",
    claims: [must("v1-S33", "§3.4.1")],
    async run(scene) {
      const { value, exchange } = await ordinaryResult(scene);
      if (value.contextId === "") throw new Failed("a contextId in the result", exchange);
    },
  },
  {
    name: "task-context",
    says: "A task has a contextId.",
    claims: [must("v03-S11", "§6.1")],
    async run(scene) {
      const { value, exchange } = await ordinaryResult(scene);
      if (value.kind === "message") throw new Skipped("the agent answers with a message");
      if (value.contextId === "") throw new Failed("a task with a contextId", exchange);
    },
  },
  {
    name: "own-context",
    says: "A contextId of the caller is used or rejected, but never replaced.",
    claims: [must("v1-S34", "§3.4.1")],
    async run(scene) {
      const contextId = "5f1c1c1e-convoke-check-of-contexts";
      const params = scene.requests.send(scene.settings.message, { contextId });
      const response = await scene.call("sendMessage", params);
      if (response.kind === "error" || parseResult(response.result)?.contextId === contextId)
        return;
      throw new Failed(`the contextId ${contextId}, or an error`, response.exchange);
    },
  },
];

/** Messages that continue a task. */
export const CONVERSATIONS: readonly Probe[] = [
  {
    name: "unknown-task",
    says: "A message to an unknown task is rejected with TaskNotFound.",
    claims: [must("v1-S35", "§3.4.2"), should("v03-S15", "§7.1, §8.2")],
    async run(scene) {
      const params = scene.requests.send(scene.settings.message, { taskId: UNKNOWN_TASK });
      await scene.expectError(scene.call("sendMessage", params), "TaskNotFound");
    },
  },
  {
    name: "ended",
    says: "A message to a finished task is rejected with UnsupportedOperation.",
    claims: [must("v1-S9", "§3.1.1")],
    async run(scene) {
      const { taskId, contextId } = (await finishedTask(scene)).value;
      const params = scene.requests.send(scene.settings.message, { taskId, contextId });
      await scene.expectError(scene.call("sendMessage", params), "UnsupportedOperation");
    },
  },
  {
    name: "ended",
    says: "A message to a finished task is rejected.",
    claims: [should("v03-S15", "§6.1, §7.1")],
    async run(scene) {
      const { taskId, contextId } = (await finishedTask(scene)).value;
      const params = scene.requests.send(scene.settings.message, { taskId, contextId });
      await scene.expectError(scene.call("sendMessage", params));
    },
  },
  {
    name: "infers-context",
    says: "A message with only a taskId belongs to the context of that task.",
    claims: [must("v1-S36", "§3.4.3")],
    async run(scene) {
      const { value: task } = await askingTask(scene);
      const { taskId, contextId } = task;
      const response = await sendForTask(scene, scene.settings.message, { taskId });
      if (response.value.taskId === taskId && response.value.contextId === contextId) return;
      throw new Failed(`the task ${taskId} in the context ${contextId}`, response.exchange);
    },
  },
  {
    name: "other-context",
    says: "A message with a taskId and the contextId of another context is rejected.",
    claims: [must("v1-S36", "§3.4.3")],
    async run(scene) {
      const { taskId } = (await askingTask(scene)).value;
      const message = { taskId, contextId: "convoke-check-another-context" };
      const params = scene.requests.send(scene.settings.message, message);
      await scene.expectError(scene.call("sendMessage", params));
    },
  },
  {
    name: "goes-on",
    says: "The answer to a question continues the task that asked it.",
    claims: [must("v1-S36", "§3.4.3"), must("v03-S4", "§7.1")],
    async run(scene) {
      const { taskId, contextId } = (await askingTask(scene)).value;
      const response = await sendForTask(scene, scene.settings.message, { taskId, contextId });
      if (response.value.taskId === taskId) return;
      throw new Failed(`the task ${taskId}, continued`, response.exchange);
    },
  },
];
