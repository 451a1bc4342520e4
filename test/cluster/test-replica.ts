import { randomUUID } from "node:crypto";
import { type Message, type Task, userMessage } from "@convoke/protocol";
import {
  type RunningEngine,
  type StartEngineOptions,
  cancelTask,
  followLog,
  getTask,
  sendMessage,
  startEngine,
  subscribeToTask,
} from "@convoke/engine";
import { type AgentDefinition, defineAgent } from "convoke";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { type SharedBackend, SharedMemory } from "./shared-memory.ts";

const CALLER = { owner: "ann" };
const NO_CONTEXT = { trace: undefined, lastEventId: undefined };

export const CARD = { name: "Shared", description: "Runs in several processes." };

/** A process of a test: an engine on a storage that others use too. */
export class TestReplica {
  readonly backend: SharedBackend;
  readonly #running: RunningEngine;

  private constructor(backend: SharedBackend, running: RunningEngine) {
    this.backend = backend;
    this.#running = running;
  }

  static async start(
    shared: SharedMemory,
    agent: Partial<AgentDefinition>,
    options: Partial<StartEngineOptions> = {},
    host?: string,
  ): Promise<TestReplica> {
    const backend = shared.open(host);
    const running = await startEngine({
      agent: defineAgent({ ...CARD, ...agent } as never),
      backend,
      logger: memoryLogger(),
      idempotency: "always",
      push: false,
      ...options,
    });
    const replica = new TestReplica(backend, running);
    onTestFinished(() => replica.stop());
    return replica;
  }

  get engine(): RunningEngine["engine"] {
    return this.#running.engine;
  }

  get call() {
    const { engine } = this;
    const agent = engine.agents.first;
    return { engine, agent, caller: CALLER, version: "1.0", ...NO_CONTEXT } as const;
  }

  send(
    text: string,
    more: Partial<Message> = {},
    blocking = true,
    pushConfig?: { readonly url: string },
  ): Promise<Task> {
    const message = { ...userMessage(randomUUID(), text), ...more };
    const request = { message, blocking, pushConfig } as Parameters<typeof sendMessage>[0];
    return sendMessage(request, this.call) as Promise<Task>;
  }

  get(taskId: string): Promise<Task> {
    return getTask({ taskId }, this.call);
  }

  async state(taskId: string): Promise<string> {
    return (await this.get(taskId)).status.state;
  }

  cancel(taskId: string): Promise<Task> {
    return cancelTask(this.engine, taskId, this.engine.scope(CALLER, undefined));
  }

  /** The events of a subscription, to its end. */
  async follow(taskId: string, lastEventId?: string): Promise<readonly unknown[]> {
    const source = await subscribeToTask({ taskId }, { ...this.call, lastEventId });
    const seen: unknown[] = [];
    for await (const entries of followLog(source)) {
      for (const { seq, event } of entries) seen.push({ seq, event });
    }
    return seen;
  }

  /** Ends the process as a crash does: nothing it still does is stored. */
  crash(): void {
    this.backend.isAlive = false;
    this.engine.close();
  }

  stop(): Promise<void> {
    return this.#running.close();
  }
}

/** Two processes with the same agent on one storage. */
export async function twoReplicas(
  agent: Partial<AgentDefinition>,
  shared = new SharedMemory(),
): Promise<{ readonly shared: SharedMemory; readonly a: TestReplica; readonly b: TestReplica }> {
  const [a, b] = [
    await TestReplica.start(shared, agent),
    await TestReplica.start(shared, agent),
  ] as const;
  return { shared, a, b };
}
