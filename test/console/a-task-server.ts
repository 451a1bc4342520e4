import { setTimeout as sleep } from "node:timers/promises";
import { openConsoleFiles } from "@convoke/console";
import { type Backend, createJsonLogger } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type AgentEvent,
  type Message,
  type Task,
  type TaskState,
  applyEvent,
  isTerminal,
  openApprovals,
} from "@convoke/protocol";
import { type ModelRequest, defineAgent } from "@convoke/runtime";
import { type ScriptStep, scriptedModel } from "@convoke/runtime/testing";
import { type Server, serve } from "@convoke/server";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { aMessage } from "../conformance/requests.ts";
import { keptPort } from "../harness/kept-port.ts";
import { calls } from "../loop/scripts.ts";

/** A server with a console, an agent that needs approvals and a sub-agent, and logs of its own. */
export class TaskServer {
  readonly #backend: Backend = createMemoryBackend();
  #server: Server | undefined;
  #counted = 0;
  #changed = Promise.withResolvers<void>();

  async start(): Promise<void> {
    const port = await keptPort();
    const scout = defineAgent({ name: "Scout", description: "Looks.", run: look });
    const boss = planner(`http://127.0.0.1:${port}/agents/scout`);
    this.#server = await serve([boss, scout, this.#counter()], {
      port,
      host: "127.0.0.1",
      readApi: true,
      console: openConsoleFiles(),
      logger: createJsonLogger("silent", () => undefined),
      openBackend: async () => this.#backend,
    });
  }

  get url(): string {
    return this.#server!.url;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  /** An agent that says a number, and the next one each time `count` is called. */
  #counter() {
    const isTurnOf = async (number: number): Promise<void> => {
      while (this.#counted < number) await this.#changed.promise;
    };
    return defineAgent({
      name: "Counter",
      description: "Counts.",
      run: async function* () {
        for (const [place, number] of ["one ", "two ", "three"].entries()) {
          yield number;
          await isTurnOf(place + 1);
        }
      },
    });
  }

  count(): void {
    this.#counted++;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Sends a message to the counter, and does not wait for its end. */
  startCounting(): Promise<Task> {
    return this.send(aMessage("Count"), { path: "agents/counter", blocking: false });
  }

  /** A task of the planner, which has asked its sub-agent, and has an approval answered. */
  async plan(text: string): Promise<Task> {
    const asked = await this.send(aMessage(text));
    const [approval] = openApprovals(asked, new Date());
    await fetch(`${this.url}convoke/approvals/${encodeURIComponent(approval!.id)}:answer`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ decision: "once" }),
    });
    return this.#ended(asked.id);
  }

  async send(message: Message, { path = "", blocking = true } = {}): Promise<Task> {
    const params = { message, configuration: { blocking } };
    const body = { jsonrpc: "2.0", id: 1, method: "message/send", params };
    const answer = await fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { readonly result: Task }).result;
  }

  async #ended(taskId: string): Promise<Task> {
    for (;;) {
      const { task } = await this.json<{ readonly task: Task }>(`tasks/${taskId}`);
      if (isTerminal(task.status.state)) return task;
      await sleep(20);
    }
  }

  /**
   * Stores a log as if an agent had written it, with the snapshot that a server writes at the end.
   * All of its events are committed at one time.
   */
  async store(taskId: string, events: readonly AgentEvent[], state: TaskState): Promise<void> {
    const contextId = `context-of-${taskId}`;
    const now = Date.now();
    const { caller } = await this.json<{ readonly caller: { readonly owner: string } }>("about");
    const task = events.reduce<Task | undefined>(applyEvent, undefined);
    await this.#backend.commit({
      taskId,
      snapshot: { seq: events.length, json: JSON.stringify(task) },
      create: {
        owner: caller.owner,
        contextId,
        agent: "Planner",
        agentId: "planner",
        createdAt: now,
      },
      epoch: 1,
      events: events.map((event) => JSON.stringify(event)),
      state,
      statusAt: now,
      listed: true,
    });
  }

  /** Shortens the log of an ended task, as a server does after a day. */
  async compact(taskId: string): Promise<void> {
    const { head, snapshot } = (await this.#backend.tasks.get(taskId))!;
    await this.#backend.retention.compact(taskId, snapshot!, [2, head]);
  }

  /** An answer of the read API. */
  async json<Answer>(path: string): Promise<Answer> {
    return (await fetch(`${this.url}convoke/${path}`)).json() as Promise<Answer>;
  }
}

/** Thinks, asks its scout, and deletes a file if it may. */
function planner(scout: string) {
  const steps: readonly (readonly ScriptStep[])[] = [
    [
      { kind: "reasoning", text: "The scout knows the way. I should ask it first." },
      { kind: "text", text: "I will look around before I change anything.\n" },
      calls("scout", { message: "What is there?" }),
    ],
    [calls("delete", { path: "drafts/old plan.md" })],
    [
      {
        kind: "text",
        text: "The old plan is gone, and here is the new one: start early, rest often.",
      },
    ],
  ];
  return defineAgent({
    name: "Planner",
    description: "Plans.",
    model: scriptedModel(Array.from({ length: 60 }, () => nextStep(steps))),
    tools: [aGuardedTool().guarded],
    subAgents: { scout },
  });
}

async function* look(): AsyncGenerator<string> {
  yield "Two files: ";
  yield "a draft and a note.";
}

/** What the model does depends on how many results it has, so that all tasks can share it. */
function nextStep(steps: readonly (readonly ScriptStep[])[]) {
  return ({ transcript }: ModelRequest): ScriptStep[] => {
    const results = transcript.filter(({ role }) => role === "tool").length;
    return [...(steps[results] ?? steps.at(-1)!)];
  };
}
