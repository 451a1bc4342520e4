import { type DataPart, type Task, isTerminal, textOf } from "@convoke/protocol";
import {
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type Tool,
  inputRequired,
  openRequestsOf,
  tool,
} from "@convoke/runtime";
import type { Backend } from "@convoke/engine";
import { expect } from "vitest";
import { LoopWorld } from "./a-loop-world.ts";
import { answerTo } from "./approval-parts.ts";
import { told } from "./scripts.ts";

/** What the model does in one iteration. */
export interface StoryStep {
  readonly text: string;
  /** Names of tools. */
  readonly calls: readonly string[];
  /** How often the provider fails before it answers. */
  readonly errors: number;
}

export type Story = readonly StoryStep[];

export interface PlayedStory {
  readonly answer: string;
  readonly state: string;
  /** What the model received at the end. */
  readonly transcript: readonly string[];
  /** The number of events in the log after the task was created. */
  readonly events: number;
  /** Calls that ran again after their result was on disk. */
  readonly repeated: readonly string[];
}

/**
 * A model that is a pure function of its input: it finds its position in the story by its earlier
 * answers, and at the end repeats the results of its tools.
 */
export function playing(story: Story): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const failures = new Map<number, number>();
  async function* stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
    requests.push(request);
    const iteration = request.transcript.filter(({ role }) => role === "assistant").length;
    const step = story[iteration];
    const usage = { inputTokens: 1, outputTokens: 1 };
    if (step === undefined) {
      const outputs = request.transcript.flatMap((entry) =>
        entry.role === "tool" ? entry.results.map(({ output }) => JSON.stringify(output)) : [],
      );
      for (const piece of ["The results: ", ...outputs]) yield { kind: "text", text: piece };
      yield { kind: "finish", reason: "stop", usage };
      return;
    }
    const failed = failures.get(iteration) ?? 0;
    for (const word of step.text.split(/(?<= )/)) yield { kind: "text", text: word };
    if (failed < step.errors) {
      failures.set(iteration, failed + 1);
      throw new ModelError("unreachable", "cut", { retryAfterMs: 0 });
    }
    for (const [place, toolName] of step.calls.entries()) {
      const toolCallId = `call-${iteration}-${place}`;
      const input = toolName === "broken" ? "{" : JSON.stringify({ n: place });
      yield { kind: "tool-call", toolCallId, toolName, input };
    }
    yield { kind: "finish", reason: "tool-calls", usage };
  }
  return { id: "story", requests, stream };
}

/** Tools that may run again, and record that they ran. */
function storyTools(ran: (toolCallId: string) => void): readonly Tool[] {
  const facts = { description: "Part of a story.", idempotent: true } as const;
  const input = { type: "object", properties: { n: { type: "integer" } } } as const;
  return [
    tool({
      ...facts,
      name: "safe",
      inputSchema: input,
      async *run({ n }, { toolCallId }) {
        ran(toolCallId);
        yield "working";
        return { n };
      },
    }),
    tool({
      ...facts,
      name: "asking",
      inputSchema: input,
      run: (_, { answers, toolCallId }) => {
        const answer = answers.get("input")?.text;
        if (answer === undefined) return inputRequired("What?");
        ran(toolCallId);
        return answer;
      },
    }),
    tool({
      ...facts,
      name: "guarded",
      inputSchema: input,
      confirm: "ask",
      run: (_, { toolCallId }) => {
        ran(toolCallId);
        return "guarded ran";
      },
    }),
    tool({
      ...facts,
      name: "failing",
      inputSchema: input,
      run: (_, { toolCallId }) => {
        ran(toolCallId);
        throw new Error("as always");
      },
    }),
    tool({ ...facts, name: "broken", inputSchema: input, run: () => "never" }),
  ];
}

/** Plays a story to its end; each of its first processes dies after the given number of events. */
export async function playStory(
  story: Story,
  backend: Backend,
  deaths: readonly number[],
): Promise<PlayedStory> {
  const finished = new Set<string>();
  const repeated: string[] = [];
  const model = playing(story);
  const tools = storyTools((toolCallId) => {
    if (finished.has(toolCallId)) repeated.push(toolCallId);
  });
  const budget = { consecutiveFailures: 100 };
  const retry = { firstWaitMs: 1 };
  const world = new LoopWorld({ model, tools, budget, retry }, { backend });
  const taskId = await world.tell("go");
  const [first, ...later] = deaths;
  if (first !== undefined) world.dieAfter(first);
  let task: Task | undefined;
  while (task === undefined || !isTerminal(task.status.state)) {
    // The index may be ahead of the engine, which must get a turn then.
    await new Promise((resolve) => setTimeout(resolve, 1));
    task = await goOn(world, taskId, { finished, later });
  }
  // In this world a dead process still makes requests for a while: only the final request counts.
  const longest = model.requests.toSorted((a, b) => b.transcript.length - a.transcript.length)[0]!;
  const transcript = told(longest.transcript);
  const events = (await world.events(taskId)).length - 2;
  await backend.close();
  return { answer: textOf(task), state: task.status.state, transcript, events, repeated };
}

/**
 * Waits until the task has ended or asks, answers it, and starts another process if one has died.
 */
async function goOn(
  world: LoopWorld,
  taskId: string,
  { finished, later }: { readonly finished: Set<string>; readonly later: number[] },
): Promise<Task> {
  const state = async (): Promise<string> => {
    if (world.isDead) return "dead";
    const record = await world.backend.tasks.get(taskId);
    return record?.state ?? "working";
  };
  await expect.poll(state, { timeout: 20_000, interval: 1 }).not.toMatch(/working|submitted/);
  if (world.isDead) {
    await world.atRest();
    for (const { toolCallId } of await world.notes(taskId, "internal:tool-complete")) {
      finished.add(String(toolCallId));
    }
    const next = later.shift();
    await world.restart({}, next);
  }
  const { task } = await world.engine.tasks.find(taskId, { owner: "ann" });
  const { message } = task.status;
  const open = openRequestsOf(task);
  if (message !== undefined && open.length > 0) {
    // Half of them at a time, so that some stay pending.
    const parts = open.slice(0, Math.ceil(open.length / 2)).map((request): DataPart => {
      if (request.kind === "approval") return answerTo(request.approval, { option: "once" });
      return { kind: "data", data: { requestId: request.requestId, value: "that" } };
    });
    // The same message again, in case this process dies while handling it.
    const messageId = `answer-${message.messageId}`;
    void world.tell(parts, { taskId, messageId }).catch(() => undefined);
    await expect
      .poll(async () => world.isDead || (await hasMessage(world, taskId, messageId)), {
        timeout: 20_000,
        interval: 1,
      })
      .toBe(true);
  }
  return task;
}

async function hasMessage(world: LoopWorld, taskId: string, messageId: string): Promise<boolean> {
  const received = await world.notes(taskId, "internal:message");
  return received.some((event) => JSON.stringify(event).includes(messageId));
}
