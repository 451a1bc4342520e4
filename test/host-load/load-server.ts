import { type AgentEntry, buildAgent } from "@convoke/host";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, defineAgent, serve } from "convoke";
import { sleep } from "@convoke/protocol/internal";

// Ten agents on one origin in a process of its own, so that its memory, timers and children can be
// measured: four functions, three with a model, three programs.

const data = process.argv[2]!;

function aFunction(id: string): Agent {
  return defineAgent({
    id,
    name: id,
    description: "Answers in pieces.",
    restart: true,
    async *run({ text, ask, signal }) {
      if (text === "ask") yield `heard ${await ask("Which?")}`;
      for (let piece = 0; piece < 5; piece++) {
        yield `piece ${piece} `;
        await sleep(5, signal);
      }
    },
  });
}

const model: AgentEntry = { description: "Thinks.", model: "demo" };

const program: AgentEntry = {
  command: "sh",
  args: [new URL("program.sh", import.meta.url).pathname],
  protocol: "json-lines",
  workspace: data,
  limits: { idleMs: 200, graceMs: 200, processes: 1000 },
};

const entries: Readonly<Record<string, AgentEntry>> = {
  ...Object.fromEntries(["fn-0", "fn-1", "fn-2", "fn-3"].map((id) => [id, aFunction(id)])),
  "model-0": model,
  "model-1": model,
  "model-2": model,
  "program-0": program,
  "program-1": program,
  "program-2": program,
};

const agents = Object.entries(entries).map(([id, entry]) =>
  buildAgent(id, entry, () => Promise.reject(new TypeError("there are no modules"))),
);

const server = await serve(await Promise.all(agents), {
  port: 0,
  data: join(data, "tasks"),
  rateLimits: false,
  limits: { openTasks: 100_000 },
  // So that the heap does not grow with the number of tasks.
  retention: { maxTasks: 1_000_000 },
});

/** What the process holds at the moment. */
export interface Held {
  readonly heapBytes: number;
  readonly timers: number;
  readonly children: number;
}

function held(): Held {
  globalThis.gc?.();
  const { pid } = process;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return {
    heapBytes: process.memoryUsage().heapUsed,
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
    children: children === "" ? 0 : children.split(" ").length,
  };
}

process.on("message", () => process.send?.(held()));
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
