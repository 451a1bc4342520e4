import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type Agent,
  type AgentEvent,
  type InternalEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  agentMessage,
  textOf,
  textPart,
} from "@convoke/protocol";
import { type Backend, type Engine, cancelTask, recover } from "@convoke/engine";
import { expect, test } from "vitest";
import { anAgentInfo } from "../../packages/server/src/cards/an-agent-info.suite.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";

/** An agent that asks for a decision which can also be made elsewhere. */
class AskingAgent implements Agent {
  readonly info = anAgentInfo({ name: "Asker", restart: true });
  readonly abandoned: InternalEvent[] = [];
  readonly elsewhere = new AbortController();
  readonly #watches: boolean;
  runs = 0;

  constructor({ watches }: { readonly watches: boolean }) {
    this.#watches = watches;
  }

  async *run({ task, journal, park }: Parameters<Agent["run"]>[0]): AsyncGenerator<AgentEvent[]> {
    this.runs += 1;
    const { id: taskId, contextId } = task;
    const isAsked = journal.some(({ kind }) => kind === "internal:ask");
    const said = journal.find(({ kind }) => kind === "internal:message");
    const isRecalled = journal.some(({ kind }) => kind === "internal:recalled");
    let answer = said?.["message"] as Message | undefined;
    if (answer === undefined && !isRecalled) {
      if (!isAsked) yield [{ kind: "internal:ask", taskId, isWatched: this.#watches }];
      const message = agentMessage("question-1", "May I?");
      const status = { state: "input-required", message } as const;
      yield [{ kind: "status-update", taskId, contextId, status, final: true }];
      answer = await park(undefined, this.#watches ? this.elsewhere.signal : undefined);
    }
    const text = answer === undefined ? "decided elsewhere" : "decided here";
    const artifact = { artifactId: "answer", parts: [textPart(text)] };
    yield [{ kind: "artifact-update", taskId, contextId, artifact, lastChunk: true }];
  }

  abandon(_task: Task, journal: readonly InternalEvent[]): void {
    this.abandoned.push(...journal);
  }
}

async function asked(
  agent: Agent,
  backend: Backend = createMemoryBackend(),
  maxParkedRuns = 100,
): Promise<{ readonly engine: Engine; readonly taskId: string }> {
  const engine = anEngine(agent, backend, { maxParkedRuns });
  const { live } = await tell(engine, "go");
  await live.until(({ task }) => task.status.state === "input-required");
  return { engine, taskId: live.task.id };
}

async function statesOf(backend: Backend, taskId: string): Promise<readonly string[]> {
  const stored = await backend.read(taskId, 0, 1000);
  return stored
    .map(({ json }) => JSON.parse(json) as AgentEvent)
    .filter((event): event is StatusUpdateEvent => event.kind === "status-update")
    .map(({ status }) => status.state);
}

async function ended(engine: Engine, taskId: string): Promise<Task> {
  const live = await engine.tasks.openFor(CALLER, taskId);
  await live.until(({ task }) => task.status.state === "completed");
  return live.task;
}

test("a question that was settled elsewhere is withdrawn, and the task continues", async () => {
  const agent = new AskingAgent({ watches: true });
  const backend = createMemoryBackend();
  // A run that only waits would not be kept in memory.
  const { engine, taskId } = await asked(agent, backend, 0);
  await new Promise((resolve) => setTimeout(resolve, 20));

  agent.elsewhere.abort();

  expect(textOf(await ended(engine, taskId))).toBe("decided elsewhere");
  expect(await statesOf(backend, taskId)).toEqual([
    "working",
    "input-required",
    "working",
    "completed",
  ]);
});

test("a concurrent answer is either accepted or rejected, and never lost", async () => {
  for (const isAnswerFirst of [true, false]) {
    const agent = new AskingAgent({ watches: true });
    const { engine, taskId } = await asked(agent);
    const answer = (): Promise<string> =>
      tell(engine, "yes", { taskId }).then(
        () => "decided here",
        () => "decided elsewhere",
      );

    const first = isAnswerFirst ? answer() : undefined;
    // A hand-over in the engine takes a few turns of the event loop.
    if (isAnswerFirst) await new Promise((resolve) => setImmediate(resolve));
    agent.elsewhere.abort();
    const outcome = await (first ?? answer());

    expect(textOf(await ended(engine, taskId))).toBe(outcome);
  }
});

test("a run that watches is restarted when the server starts, without asking again", async () => {
  const backend = createMemoryBackend();
  const before = new AskingAgent({ watches: true });
  const { taskId } = await asked(before, backend);
  expect(before.runs).toBe(1);

  const agent = new AskingAgent({ watches: true });
  const engine = anEngine(agent, backend);
  expect(await recover(engine)).toMatchObject({ resumed: 1, ended: 0, waiting: 0 });
  await expect.poll(() => agent.runs).toBe(1);
  agent.elsewhere.abort();

  expect(textOf(await ended(engine, taskId))).toBe("decided elsewhere");
  expect(await statesOf(backend, taskId)).toEqual([
    "working",
    "input-required",
    "working",
    "completed",
  ]);
});

test("an agent is notified of the cancel of a task that it is not working on", async () => {
  const agent = new AskingAgent({ watches: false });
  const backend = createMemoryBackend();
  const { taskId } = await asked(agent, backend);
  const engine = anEngine(agent, backend);
  expect(await recover(engine)).toMatchObject({ resumed: 0, ended: 0, waiting: 1 });

  await cancelTask(engine, taskId, CALLER);

  expect(agent.abandoned.map(({ kind }) => kind)).toEqual(["internal:ask"]);
  expect(agent.runs).toBe(1);
});
