import type { AgentName, Effect, Order } from "./agents.ts";
import type { Frame, Json, WireTask } from "./caller.ts";

/** A task of the fixture: the message that started it, and how far it got before the kill. */
interface Case {
  readonly agent: AgentName;
  readonly text: string;
  /** The stored log contains this text when the task is at the point where it should be killed. */
  readonly until: string;
  /** The path of the webhook that it pushes to. */
  readonly pushTo?: "/early" | "/late";
  /** Tools that its caller declares. */
  readonly tools?: readonly Json[];
  /**
   * It is canceled before the kill: either the cancel completes, or the process is killed before
   * the task has stopped.
   */
  readonly cancel?: "wait" | "cut";
}

const COMPLETED = '"state":"completed"';
const WAITS = '"state":"input-required"';

const CASES_BY_NAME = {
  // Ended
  completed: { agent: "clerk", text: "greet", until: COMPLETED, pushTo: "/late" },
  failed: { agent: "clerk", text: "break", until: '"state":"failed"' },
  rejected: { agent: "clerk", text: "refuse", until: '"state":"rejected"' },
  canceled: { agent: "clerk", text: "dawdle", until: '"state":"canceled"', cancel: "wait" },
  said: { agent: "planner", text: order({ say: "Done.", rest: "" }), until: COMPLETED },
  // Waiting for the caller
  question: { agent: "clerk", text: "refund", until: WAITS, pushTo: "/early" },
  signIn: { agent: "clerk", text: "sign in", until: '"state":"auth-required"' },
  approval: { agent: "planner", text: call("pay", { amount: 40 }), until: WAITS },
  toolQuestion: { agent: "planner", text: call("choose"), until: WAITS },
  clientTool: {
    agent: "planner",
    text: call("read_page", { line: 7 }),
    until: WAITS,
    tools: [{ name: "read_page", description: "Reads the page of the caller." }],
  },
  remoteQuestion: { agent: "planner", text: call("flights", { message: "ask" }), until: WAITS },
  localQuestion: { agent: "planner", text: call("hotels", { message: "ask" }), until: WAITS },
  // In progress
  step: { agent: "clerk", text: "ship", until: '"name":"hand over"' },
  plain: { agent: "clerk", text: "dawdle", until: "One moment." },
  restart: { agent: "copyist", text: "copy", until: "To be, " },
  model: {
    agent: "planner",
    text: order({ say: "Let me think. ", rest: "Rome." }),
    until: "internal:llm-call",
  },
  idempotentTool: { agent: "planner", text: call("read"), until: "internal:tool-start" },
  onceTool: { agent: "planner", text: call("post"), until: "internal:tool-start" },
  remoteWork: {
    agent: "planner",
    text: call("flights", { message: "reserve" }),
    until: '"internal:sub-agent"',
  },
  localWork: {
    agent: "planner",
    text: call("hotels", { message: "reserve" }),
    until: '"internal:sub-agent"',
  },
  hibernating: { agent: "clerk", text: "hibernate", until: "internal:sleep" },
  napping: { agent: "clerk", text: "nap", until: "internal:sleep" },
  canceling: { agent: "clerk", text: "ignore cancel", until: "internal:cancel", cancel: "cut" },
} as const satisfies Readonly<Record<string, Case>>;

export type CaseName = keyof typeof CASES_BY_NAME;
export const CASES: Readonly<Record<CaseName, Case>> = CASES_BY_NAME;

/** What was observed of a task before the kill. */
export interface RecordedTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly messageId: string;
  /** Its stream: a prefix of its log. */
  readonly frames: readonly Frame[];
  /** The task in A2A 0.3 and 1.0. */
  readonly snapshot: WireTask;
  readonly snapshotV1: Json;
}

/** A notification that the webhook accepted. */
export interface Arrival {
  readonly path: string;
  readonly webhookId: string;
  readonly token: string;
}

/** `facts.json` next to the data folders. */
export interface Facts {
  /** The port of the webhook, which is part of the stored push configs. */
  readonly hookPort: number;
  readonly arrivals: readonly Arrival[];
  /** What ran before the kill. */
  readonly effects: readonly Effect[];
  readonly tasks: Readonly<Record<CaseName, RecordedTask>>;
}

function call(toolName: string, input: object = {}): string {
  return order({ call: toolName, input });
}

function order(given: Order): string {
  return JSON.stringify(given);
}
