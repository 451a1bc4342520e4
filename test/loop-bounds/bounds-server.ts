import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Model,
  type ModelEvent,
  type ModelRequest,
  type Tool,
  defineAgent,
  tool,
} from "@convoke/runtime";
import { serve } from "convoke";

// A server in its own process, so that its memory can be measured separately from the test's. Its
// model does what the message says; its tools misbehave.

/** What the process has observed and used, as its test requests it. */
export interface BoundsFacts {
  readonly mostRssMb: number;
  readonly cpuMs: number;
  /** Of `busy`, concurrently. */
  readonly mostAtOnce: number;
  /** Why `never` was aborted, in order. */
  readonly stops: readonly string[];
}

const GIGABYTE = 2 ** 30;
const MB = 1024 * 1024;

let running = 0;
let mostAtOnce = 0;
const stops: string[] = [];

/** Prints from another process, as a tool that runs commands does. */
const flood = tool({
  name: "flood",
  description: "Prints a gigabyte.",
  async *run(_, { signal }) {
    const line = `${"x".repeat(63)}\n`;
    const script = `
      const chunk = ${JSON.stringify(line)}.repeat(1024);
      let left = ${GIGABYTE} / chunk.length;
      const print = () => {
        while (left-- > 0) if (!process.stdout.write(chunk)) return process.stdout.once("drain", print);
        process.stdout.write("the end");
      };
      print();`;
    const child = spawn(process.execPath, ["-e", script], { signal });
    const closed = once(child, "close");
    yield "the beginning\n";
    yield* child.stdout.setEncoding("utf8");
    await closed;
  },
});

const never = tool({
  name: "never",
  description: "Never returns.",
  timeoutMs: 300,
  run: (_, { signal }) => wait(signal),
});

const patient = tool({
  name: "patient",
  description: "Never returns either, and has all the time.",
  run: (_, { signal }) => wait(signal),
});

const busy = tool({
  name: "busy",
  description: "Takes a moment.",
  inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  run: async ({ n }) => {
    running += 1;
    mostAtOnce = Math.max(mostAtOnce, running);
    // The later ones are faster, so that they finish in a different order.
    await sleep(20 - (Number(n) % 5) * 4);
    running -= 1;
    return n;
  },
});

function wait(signal: AbortSignal): Promise<never> {
  signal.addEventListener("abort", () => stops.push(String((signal.reason as Error).message)));
  return new Promise(() => undefined);
}

/**
 * `tokens 100` emits a hundred words; the name of a tool calls it; `busy 50` calls it fifty times
 * in parallel.
 */
async function* answer({ transcript }: ModelRequest): AsyncGenerator<ModelEvent> {
  const usage = { inputTokens: 1, outputTokens: 1 };
  const last = transcript.at(-1);
  if (last?.role === "tool") {
    const outputs = last.results.map(({ output }) => output);
    yield { kind: "text", text: JSON.stringify(outputs) };
    return yield { kind: "finish", reason: "stop", usage };
  }
  const part = last?.role === "user" ? last.parts[0] : undefined;
  const [command = "", argument = "1"] = (part?.kind === "text" ? part.text : "").split(" ");
  for (let n = 0; n < Number(argument); n++) {
    if (command === "tokens") yield { kind: "text", text: `w${n} ` };
    else {
      const call = { toolCallId: `${command}-${n}`, toolName: command };
      yield { kind: "tool-call", ...call, input: JSON.stringify({ n }) };
    }
  }
  return yield { kind: "finish", reason: command === "tokens" ? "stop" : "tool-calls", usage };
}

const model: Model = { id: "bounds", stream: (request) => answer(request) };
const tools: readonly Tool[] = [flood, never, patient, busy];
const agent = defineAgent({ name: "Bounds", description: "Goes to its bounds.", model, tools });
const server = await serve(agent, { port: 0, data: process.argv[2] ?? "" });

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  const mostRssMb = (process.resourceUsage().maxRSS * 1024) / MB;
  const facts: BoundsFacts = { mostRssMb, cpuMs: (user + system) / 1000, mostAtOnce, stops };
  process.send?.(facts);
});
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
