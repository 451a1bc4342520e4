import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createJsonLogger } from "@convoke/engine";
import { textOfParts } from "@convoke/protocol";
import { type Model, type ModelRequest, defineAgent, tool } from "@convoke/runtime";
import { type ScriptedTurn, scriptedModel } from "@convoke/runtime/testing";
import { serve } from "@convoke/server";
import { existsSync, readdirSync } from "node:fs";
import { reportReady } from "../harness/report-ready.ts";

// An agent that streams, asks for approvals, calls a sub-agent and is pushed, as its messages say. Ended
// tasks are removed after a few seconds, so that this is part of what is measured.

const pay = tool({
  name: "pay",
  description: "Pays, if somebody approves.",
  confirm: "ask",
  run: () => "paid",
});

const helper = defineAgent({
  name: "Helper",
  description: "Helps with ten words.",
  async *run() {
    for (let count = 0; count < 10; count++) yield `word ${count} `;
  },
});

const TURNS: Readonly<Record<string, readonly [first: ScriptedTurn, second?: ScriptedTurn]>> = {
  stream: ["one word after the other ".repeat(20)],
  approve: [{ kind: "tool-call", toolName: "pay", input: {} }, "It is paid."],
  delegate: [{ kind: "tool-call", toolName: "helper", input: { message: "Help" } }, "It is done."],
};

const model: Model = {
  id: "soaked",
  stream: (request, signal) => scriptedModel([turnFor(request)]).stream(request, signal),
};

function turnFor({ transcript }: ModelRequest): ScriptedTurn {
  const place = transcript.findLastIndex(({ role }) => role === "user");
  const asked = transcript[place];
  const text = asked?.role === "user" ? textOfParts(asked.parts) : "";
  if (text === "facts") return JSON.stringify(facts());
  const [first, second = "Nothing else."] = TURNS[text] ?? ["What do you mean?"];
  return transcript.slice(place).some(({ role }) => role === "tool") ? second : first;
}

/** What the process uses. */
export interface Facts {
  readonly rssBytes: number;
  /** Open files and connections, where the system tells. */
  readonly descriptors: number;
  /** Timers, connections and other things that keep a process alive. */
  readonly handles: number;
}

function facts(): Facts {
  const open = "/proc/self/fd";
  return {
    rssBytes: process.memoryUsage.rss(),
    descriptors: existsSync(open) ? readdirSync(open).length : 0,
    handles: process.getActiveResourcesInfo().length,
  };
}

const { CONVOKE_DATA: folder = "", CONVOKE_PORT: port = "0" } = process.env;
const server = await serve(
  defineAgent({
    name: "Soaked",
    description: "Does what its messages say.",
    model,
    tools: [pay],
    subAgents: { helper },
  }),
  {
    port: Number(port),
    host: "127.0.0.1",
    logger: createJsonLogger("error", (line) => process.stderr.write(line)),
    openBackend: () => openSqliteBackend({ folder }),
    // Callers send again what got no answer, and activate no extension.
    idempotency: "always",
    push: { allow: ["127.0.0.1"], backoff: { firstMs: 10, longestMs: 500 } },
    retention: { maxTasks: 500, maxAgeMs: 5000, everyMs: 500 },
  },
);
process.once("SIGTERM", () => void server.close({ drainMs: 0 }).then(() => process.exit()));
reportReady(server.url);
