import type { AgentEvent } from "@convoke/protocol";

const START = Date.parse("2026-11-16T08:00:00.000Z");

function timestamp(ms: number): string {
  return new Date(START + ms).toISOString();
}

function created(taskId: string, text: string): AgentEvent {
  const contextId = `context-of-${taskId}`;
  const parts = [{ kind: "text" as const, text }];
  const message = { kind: "message" as const, messageId: "m1", role: "user" as const, parts };
  return {
    kind: "task",
    id: taskId,
    contextId,
    status: { state: "submitted", timestamp: timestamp(0) },
    history: [{ ...message, taskId, contextId }],
  };
}

function status(taskId: string, state: "working" | "completed", ms: number): AgentEvent {
  return {
    kind: "status-update",
    taskId,
    contextId: `context-of-${taskId}`,
    status: { state, timestamp: timestamp(ms) },
    final: state === "completed",
  };
}

function chunk(taskId: string, text: string, artifactId = "answer"): AgentEvent {
  return {
    kind: "artifact-update",
    taskId,
    contextId: `context-of-${taskId}`,
    artifact: { artifactId, parts: [{ kind: "text", text }] },
    append: true,
  };
}

/** The process of the agent ends while a payment is made. The next one cannot know what came of it. */
export function crashLog(taskId: string): readonly AgentEvent[] {
  const call = { taskId, toolCallId: "call-1", toolName: "pay" };
  const model = { taskId, model: "a-model" };
  const usage = {
    inputTokens: 1200,
    outputTokens: 80,
    cachedInputTokens: 900,
    reasoningTokens: 20,
  };
  return [
    created(taskId, "Pay the invoice"),
    status(taskId, "working", 5),
    { kind: "internal:llm-call", ...model, iteration: 1, attempt: 1, timestamp: timestamp(10) },
    {
      kind: "internal:llm-retry",
      ...model,
      iteration: 1,
      attempt: 1,
      problem: "the model is overloaded",
      waitMs: 500,
      timestamp: timestamp(400),
    },
    { kind: "internal:llm-call", ...model, iteration: 1, attempt: 2, timestamp: timestamp(900) },
    {
      kind: "internal:llm-result",
      ...model,
      iteration: 1,
      content: [{ kind: "tool-call", toolCallId: "call-1", toolName: "pay", input: '{"eur":30}' }],
      finish: "tool-calls",
      usage,
      costUsd: 0.0042,
      firstMs: 210,
      durationMs: 820,
      timestamp: timestamp(1720),
    },
    {
      kind: "internal:tool-start",
      ...call,
      input: { eur: 30 },
      round: 1,
      timestamp: timestamp(1730),
    },
    { kind: "internal:attempt", taskId, attempt: 2, crashes: 1 },
    {
      kind: "internal:tool-complete",
      ...call,
      success: false,
      output: "The process ended while this ran, so nobody knows whether it was done.",
      timestamp: timestamp(9000),
    },
    chunk(taskId, "I cannot tell whether the invoice is paid."),
    status(taskId, "completed", 9100),
  ];
}

/** An answer in so many events that no page should load all of them. */
export function longLog(taskId: string, events: number): readonly AgentEvent[] {
  const chunks = Array.from({ length: events - 3 }, (_, place) => chunk(taskId, `word ${place} `));
  return [
    created(taskId, "Tell me everything"),
    status(taskId, "working", 5),
    ...chunks,
    status(taskId, "completed", 60_000),
  ];
}
