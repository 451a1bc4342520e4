import { setTimeout as sleep } from "node:timers/promises";
import { openConsoleFiles } from "@convoke/console";
import { type Backend, createJsonLogger } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type AgentEvent,
  type Message,
  type Task,
  type TaskState,
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

  async start(): Promise<void> {
    const port = await keptPort();
    const scout = defineAgent({ name: "Scout", description: "Looks.", run: look });
    this.#server = await serve([planner(`http://127.0.0.1:${port}/agents/scout`), scout], {
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

  async send(message: Message): Promise<Task> {
    const body = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } };
    const answer = await fetch(this.url, {
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

  /** Stores a log as if an agent had written it. All of its events are committed at one time. */
  async store(taskId: string, events: readonly AgentEvent[], state: TaskState): Promise<void> {
    const contextId = `context-of-${taskId}`;
    const now = Date.now();
    const { caller } = await this.json<{ readonly caller: { readonly owner: string } }>("about");
    await this.#backend.commit({
      taskId,
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
