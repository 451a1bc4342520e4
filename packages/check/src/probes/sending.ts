import { may, must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import { changed } from "../scene/changed.ts";
import { seenResult } from "../scene/seen.ts";
import { isAtRest, ordinary, sendForTask, slowText } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";

/** What a send is answered with, and when. */
export const SENDING: readonly Probe[] = [
  {
    name: "send",
    says: "A message is answered with either a task or a message.",
    claims: [must("v1-S8", "§3.1.1"), must("v03-S4", "§7.1")],
    async run(scene) {
      await ordinary(scene);
    },
  },
  {
    name: "waits",
    says: "A send that asks for nothing else waits until the task ends or waits for its caller.",
    claims: [must("v1-S11", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const { value, exchange } = await ordinary(scene);
      if (value.kind === "message") throw new Skipped("the agent answers with a message");
      if (!isAtRest(value)) throw new Failed("a task that has ended or waits for input", exchange);
    },
  },
  {
    name: "waits-long",
    says: "It waits also while the agent is busy, and the answer has the artifacts.",
    claims: [must("v1-S11", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const { value, exchange } = await sendForTask(scene, await slowText(scene));
      if (!isAtRest(value)) throw new Failed("a task that has ended or waits for input", exchange);
    },
  },
  {
    name: "returns-at-once",
    says: "A send that asks for it is answered as soon as there is a task.",
    claims: [must("v1-S12", "§3.2.2"), should("v03-S4", "§7.1.1")],
    async run(scene) {
      const text = await slowText(scene);
      const { value, exchange } = await sendForTask(scene, text, {}, { blocking: false });
      if (!isAtRest(value)) return;
      throw new Failed("a task that is still being worked on", exchange);
    },
  },
  {
    name: "waits-by-default",
    says: "A send whose configuration does not say whether to wait waits.",
    claims: [may("v03-S4", "§7.1.1")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const params = changed(scene.requests.send(await slowText(scene)), ["configuration"], {
        acceptedOutputModes: ["text/plain"],
      });
      const { result, exchange } = await scene.served(scene.call("sendMessage", params), "a task");
      const value = seenResult(result);
      if (value?.kind !== "task" || isAtRest(value)) return;
      throw new Failed("a task that has ended or waits for input", exchange);
    },
  },
  {
    name: "own-ids",
    says: "Each task has an id of its own, made by the server.",
    claims: [must("v1-S35", "§3.4.2"), must("v03-S4", "§6.1")],
    async run(scene) {
      const { value: first } = await ordinary(scene);
      if (first.kind === "message") throw new Skipped("the agent answers with a message");
      const { value, exchange } = await sendForTask(scene, scene.settings.message);
      if (value.taskId !== first.taskId) return;
      throw new Failed(`another task than ${first.taskId}`, exchange);
    },
  },
  {
    name: "context",
    says: "The answer has the contextId that the server made.",
    claims: [must("v1-S33", "§3.4.1")],
    async run(scene) {
      const { value, exchange } = await ordinary(scene);
      if (value.contextId === "") throw new Failed("a contextId in the answer", exchange);
    },
  },
  {
    name: "task-context",
    says: "A task has a contextId.",
    claims: [must("v03-S11", "§6.1")],
    async run(scene) {
      const { value, exchange } = await ordinary(scene);
      if (value.kind === "message") throw new Skipped("the agent answers with a message");
      if (value.contextId === "") throw new Failed("a task with a contextId", exchange);
    },
  },
  {
    name: "own-context",
    says: "A contextId of the caller is used or refused, and never replaced by another.",
    claims: [must("v1-S34", "§3.4.1")],
    async run(scene) {
      const contextId = "5f1c1c1e-convoke-check-of-contexts";
      const params = scene.requests.send(scene.settings.message, { contextId });
      const answer = await scene.call("sendMessage", params);
      if (answer.kind === "refused" || seenResult(answer.result)?.contextId === contextId) return;
      throw new Failed(`the contextId ${contextId}, or an error`, answer.exchange);
    },
  },
];
