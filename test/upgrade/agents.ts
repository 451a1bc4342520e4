import type { Agent } from "@convoke/protocol";
import {
  type AgentDefinition,
  type FunctionTurn,
  type Model,
  type ModelRequest,
  type ToolContext,
  defineAgent,
  inputRequired,
  tool,
} from "@convoke/runtime";
import { type ScriptTurn, scriptedModel } from "@convoke/runtime/testing";

/** Something with a side effect outside the task: the body of a step, or a tool. */
export interface Effect {
  readonly name: string;
  /** The idempotency key, which must be the same before and after the upgrade. */
  readonly key?: string;
  readonly input?: unknown;
}

export interface AgentOptions {
  readonly record: (effect: Effect) => void;
  /** Work that the kill should interrupt never finishes. Only while the fixture is written. */
  readonly hangs: boolean;
  /** The URL of the flights agent, which is a separate server. */
  readonly flightsUrl: string;
}

export type AgentName = "clerk" | "copyist" | "flights" | "planner";

/** The agents whose data folders are in the fixture. A change here must still accept those folders. */
export const AGENTS: Readonly<Record<AgentName, (options: AgentOptions) => Agent>> = {
  clerk: createClerk,
  copyist: createCopyist,
  flights: (options) => createTraveler("flights", options),
  planner: createPlanner,
};

type Run = AgentDefinition["run"];
type Job = (turn: FunctionTurn, options: AgentOptions) => ReturnType<Run>;

/** Longer than it takes to write the fixture, and over when a test opens it. */
const NAP_MS = 15_000;
export const CENTURY_MS = 100 * 365 * 24 * 3_600_000;

/** Never resolves while the fixture is written: the process is killed here. */
async function interruptible({ hangs }: AgentOptions): Promise<void> {
  if (hangs) await new Promise(() => undefined);
}

/** What the clerk does, by the text of the message. */
const JOBS: Readonly<Record<string, Job>> = {
  async *refund({ step, ask, artifact }, { record }) {
    const total = await step("look up", () => {
      record({ name: "look up" });
      return 40;
    });
    yield `The order cost ${total}. `;
    const answer = await ask(`Refund ${total}?`, ["yes", "no"]);
    await step("refund", ({ key }) => record({ name: "refund", key }));
    yield `Refunded, because you said ${answer}.`;
    yield artifact("receipt.json", { total });
  },
  async *"sign in"({ authRequired }) {
    yield `Signed in: ${await authRequired("Sign in, then say who you are.")}.`;
  },
  async *nap({ step, sleep }, { record }) {
    await step("lie down", () => record({ name: "lie down" }));
    await sleep(NAP_MS);
    yield "Slept.";
  },
  async *hibernate({ sleep }) {
    yield "Good night.";
    await sleep(CENTURY_MS);
  },
  async *ship({ step }, options) {
    await step("pack", () => options.record({ name: "pack" }));
    yield "Packed. ";
    await step("hand over", async ({ key }) => {
      options.record({ name: "hand over", key });
      await interruptible(options);
    });
    yield "Shipped.";
  },
  async *dawdle({ signal }) {
    yield "One moment.";
    await new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  },
  async *"ignore cancel"() {
    yield "I do not stop.";
    await new Promise(() => undefined);
  },
  async *greet({ artifact }) {
    yield "Hello, ";
    yield "world.";
    yield artifact("card.json", { from: "the clerk" });
  },
  async *recall({ conversation }) {
    yield conversation
      .flatMap(({ parts }) => parts)
      .map((part) => (part.kind === "text" ? part.text : `[${part.kind}]`))
      .join(" / ");
  },
  break: ({ fail }) => fail("Out of paper."),
  refuse: ({ reject }) => reject("Not my department."),
};

function createClerk(options: AgentOptions): Agent {
  return defineAgent({
    name: "clerk",
    description: "Does what a message names.",
    run: (turn) => {
      const job = JOBS[turn.text];
      if (job === undefined) throw new Error(`The clerk does not know "${turn.text}".`);
      return job(turn, options);
    },
  });
}

/** Has no journal: after a crash its function starts over. */
function createCopyist(options: AgentOptions): Agent {
  return defineAgent({
    name: "copyist",
    description: "Copies a line.",
    restart: true,
    async *run() {
      options.record({ name: "copy" });
      yield "To be, ";
      await interruptible(options);
      yield "or not to be.";
    },
  });
}

/** A sub-agent that asks, or is interrupted in a step. */
function createTraveler(name: string, options: AgentOptions): Agent {
  return defineAgent({
    name,
    description: `Books ${name}.`,
    async *run({ text, step, ask }) {
      await step("search", () => options.record({ name: `${name} search` }));
      if (text === "ask") return void (yield `${name} in ${await ask("Which city?")}`);
      await step("reserve", async ({ key }) => {
        options.record({ name: `${name} reserve`, key });
        await interruptible(options);
      });
      yield `${name} reserved`;
    },
  });
}

function createPlanner(options: AgentOptions): Agent {
  return defineAgent({
    name: "planner",
    description: "Plans trips.",
    model: obedientModel(options),
    tools: plannerTools(options),
    subAgents: {
      flights: { url: options.flightsUrl, retryForMs: 60_000 },
      hotels: createTraveler("hotels", options),
    },
    // The fixture is stored for months between its two processes; that must not count as a timeout.
    budget: { timeMs: Infinity },
    clientTools: { timeoutMs: CENTURY_MS },
  });
}

function plannerTools(options: AgentOptions) {
  const ran = (name: string, input: unknown, { key }: ToolContext): void =>
    options.record({ name, key, input });
  return [
    tool({
      name: "pay",
      description: "Pays, after approval.",
      inputSchema: {
        type: "object",
        properties: { amount: { type: "number" } },
        required: ["amount"],
      },
      confirm: "ask",
      run: (input, context) => {
        ran("pay", input, context);
        return `paid ${String(input["amount"])}`;
      },
    }),
    tool({
      name: "choose",
      description: "Asks for a seat.",
      run: (_input, { answers }) =>
        answers.get("seat")?.text ??
        inputRequired("Which seat?", { requestId: "seat", options: ["aisle", "window"] }),
    }),
    tool({
      name: "read",
      description: "Reads; it may run again after a crash.",
      idempotent: true,
      run: async (input, context) => {
        ran("read", input, context);
        await interruptible(options);
        return "read it";
      },
    }),
    tool({
      name: "post",
      description: "Posts; it must not run again after a crash.",
      run: async (input, context) => {
        ran("post", input, context);
        await interruptible(options);
        return "posted it";
      },
    }),
  ];
}

/** The text of a message to the planner: which tool its model calls, or what it answers. */
export type Order =
  | { readonly call: string; readonly input: object }
  | { readonly say: string; readonly rest: string };

/** Calls the tool that the message names and repeats its result; it needs no state of its own. */
function obedientModel({ hangs }: AgentOptions): Model {
  return {
    id: "obedient",
    stream: (request, signal) =>
      scriptedModel([nextAnswer(request, hangs)]).stream(request, signal),
  };
}

function nextAnswer({ transcript }: ModelRequest, hangs: boolean): ScriptTurn {
  const start = transcript.findLastIndex(({ role }) => role === "user");
  const results = transcript
    .slice(start)
    .flatMap((entry) => (entry.role === "tool" ? entry.results : []));
  if (results.length > 0) return results.map(({ output }) => `Result: ${toText(output)}`).join("");
  const asked = transcript[start];
  const part = asked?.role === "user" ? asked.parts.at(-1) : undefined;
  const order = JSON.parse(part?.kind === "text" ? part.text : "") as Order;
  if ("call" in order) {
    const { call: toolName, input } = order;
    return { kind: "tool-call", toolCallId: "call-1", toolName, input };
  }
  const { say, rest } = order;
  const isCut = hangs && rest !== "";
  return [textStep(say), isCut ? { kind: "silence" } : textStep(rest)];
}

function textStep(text: string) {
  return { kind: "text", text } as const;
}

function toText(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
