import { type Approval, type Task, isTerminal } from "@convoke/protocol";
import { type Model, type ModelEvent, type Tool, digestArguments, tool } from "@convoke/runtime";
import { expect } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { openApprovals } from "../loop/approval-parts.ts";
import { type Death, type Move, type Permission, messageOf } from "./moves.ts";

/** What the model calls in one answer: one of two guarded tools, with a number. */
export type Calls = readonly { readonly toolName: "delete" | "send"; readonly n: number }[];

export interface GuardedStory {
  readonly answers: readonly Calls[];
  readonly moves: readonly { readonly move: Move; readonly death: Death }[];
  readonly acceptPlainText: boolean;
}

/** What happened, and what of it was not approved. */
export interface GuardedEnd {
  readonly state: string;
  readonly executed: number;
  readonly asked: number;
  readonly unapproved: readonly string[];
  /** What was approved once, and never ran. */
  readonly forgotten: readonly string[];
}

interface Execution {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly digest: string;
}

/** Plays a story to its end; when the moves are used up, everything is rejected. */
export async function playGuarded(story: GuardedStory): Promise<GuardedEnd> {
  const { acceptPlainText } = story;
  const executions: Execution[] = [];
  const permissions: Permission[] = [];
  const unapproved: string[] = [];
  const tools = guardedTools((execution) => {
    executions.push(execution);
    if (!permissions.some((each) => permits(each, execution))) {
      unapproved.push(JSON.stringify(execution));
    }
  });
  const budget = { consecutiveFailures: 100 };
  const approvals = { acceptPlainText };
  const world = new LoopWorld({ model: calling(story.answers), tools, budget, approvals });
  const taskId = await world.tell("go");
  const earlier: Approval[] = [];
  const moves = [...story.moves];
  let asked = 0;
  let task = await world.settled(taskId);
  while (!isTerminal(task.status.state)) {
    const open = openApprovals(task);
    asked += 1;
    const { move, death } = moves.shift() ?? {
      move: { kind: "words", text: "stop" },
      death: "none",
    };
    const { content, permits: given } = messageOf(move, open, { earlier, acceptPlainText });
    earlier.push(...open);
    permissions.push(...given);
    task = await answer(world, { taskId, messageId: `answer-${asked}`, content, death });
  }
  const ran = new Set(executions.map(({ toolCallId, digest }) => `${toolCallId} ${digest}`));
  const forgotten = permissions.flatMap((each) =>
    "digest" in each && !ran.has(`${each.toolCallId} ${each.digest}`) ? [JSON.stringify(each)] : [],
  );
  await world.backend.close();
  const { state } = task.status;
  return { state, executed: executions.length, asked, unapproved, forgotten };
}

function permits(permission: Permission, { toolCallId, toolName, digest }: Execution): boolean {
  if ("toolName" in permission) return permission.toolName === toolName;
  return permission.toolCallId === toolCallId && permission.digest === digest;
}

interface Answering {
  readonly taskId: string;
  readonly messageId: string;
  readonly content: Parameters<LoopWorld["tell"]>[0];
  readonly death: Death;
}

/**
 * Answers, with a crash in between if planned; a caller without a response sends the same again.
 */
async function answer(
  world: LoopWorld,
  { taskId, messageId, content, death }: Answering,
): Promise<Task> {
  const tell = (): Promise<unknown> =>
    // A rejected answer is one of the possible outcomes: the task keeps asking.
    world.tell(content, { taskId, messageId }).catch(() => undefined);
  if (death === "before") await world.restart();
  if (typeof death === "number") {
    world.dieAfter(death);
    const died = expect
      .poll(() => world.isDead, { timeout: 2000, interval: 1 })
      .toBe(true)
      .catch(() => undefined);
    await Promise.race([tell().then(() => world.settled(taskId)), died]).catch(() => undefined);
    await world.restart();
  }
  await tell();
  return world.settled(taskId);
}

function guardedTools(ran: (execution: Execution) => void): readonly Tool[] {
  return ["delete", "send"].map((toolName) =>
    tool({
      name: toolName,
      description: "Does something that nobody can undo.",
      inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      confirm: "ask",
      idempotent: true,
      run: (input, { toolCallId }) => {
        ran({ toolCallId, toolName, digest: digestArguments(input) });
        return `${toolName} done`;
      },
    }),
  );
}

/** A model that finds its position by its earlier answers. */
function calling(answers: readonly Calls[]): Model {
  async function* stream({
    transcript,
  }: Parameters<Model["stream"]>[0]): AsyncGenerator<ModelEvent> {
    const place = transcript.filter(({ role }) => role === "assistant").length;
    for (const [index, { toolName, n }] of (answers[place] ?? []).entries()) {
      const call = { toolCallId: `${toolName}-${place}-${index}`, toolName };
      yield { kind: "tool-call", ...call, input: JSON.stringify({ n }) };
    }
    yield { kind: "text", text: "." };
    const reason = answers[place] === undefined ? "stop" : "tool-calls";
    yield { kind: "finish", reason, usage: { inputTokens: 1, outputTokens: 1 } };
  }
  return { id: "calling", stream };
}
