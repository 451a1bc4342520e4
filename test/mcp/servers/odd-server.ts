import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// A server that implements the protocol by hand, so that it can do what no library allows. Its
// arguments select the oddities.

const oddities = new Set(process.argv.slice(2));

interface Incoming {
  readonly id?: number;
  readonly method: string;
  readonly params?: {
    readonly cursor?: string;
    readonly name?: string;
    readonly arguments?: object;
  };
}

interface OddTool {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
}

/** Takes time that doubles with each letter of an "aaa…!" that is checked with it. */
const ENDLESS = {
  type: "object",
  properties: { code: { type: "string", pattern: "^(a+)+$" }, size: { type: "number" } },
};

const TOOLS = tools();

function tools(): readonly OddTool[] {
  if (oddities.has("many")) {
    return Array.from({ length: 300 }, (_, place) => aTool(`tool_${place}`));
  }
  if (oddities.has("schemas")) {
    return [
      { name: "pattern_in", inputSchema: ENDLESS },
      { ...aTool("pattern_out"), outputSchema: ENDLESS },
      {
        name: "no_schema",
        inputSchema: { type: "object", properties: { code: { type: "text" } } },
      },
      { ...aTool("deep"), outputSchema: { type: "object", properties: { code: deepSchema() } } },
      aTool("plain"),
    ];
  }
  return [
    aTool("plain"),
    aTool("with spaces/and.dots"),
    aTool("with_spaces_and.dots"),
    aTool("l".repeat(100)),
  ];
}

function aTool(name: string): OddTool {
  return { name, inputSchema: { type: "object" } };
}

function deepSchema(): object {
  let schema: object = {};
  for (let level = 0; level < 100; level++) schema = { items: schema };
  return schema;
}

function answer({ method, params }: Incoming): object {
  if (method === "initialize") {
    return {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "odd", version: "1.0.0" },
    };
  }
  if (method === "tools/list") {
    const start = Number(params?.cursor ?? 0);
    const next = start + 100;
    const page = TOOLS.slice(start, next);
    return { tools: page, ...(next < TOOLS.length && { nextCursor: String(next) }) };
  }
  const isStructured = TOOLS.find(({ name }) => name === params?.name)?.outputSchema !== undefined;
  return {
    content: [{ type: "text", text: `called ${params?.name}` }],
    ...(isStructured && { structuredContent: params?.arguments }),
  };
}

if (oddities.has("stubborn")) {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 60_000);
  // A process that could not be found if it were not in the same group.
  spawn(process.execPath, ["-e", "setInterval(() => {}, 60000)"], { stdio: "ignore" });
}
if (oddities.has("endless")) setInterval(() => process.stdout.write("x".repeat(100_000)), 1);
if (oddities.has("flooding")) {
  setInterval(() => process.stderr.write(`${"noise ".repeat(500)}\n`.repeat(100)), 1).unref();
}

for await (const line of createInterface({ input: process.stdin })) {
  if (oddities.has("hanging")) continue;
  const message = JSON.parse(line) as Incoming;
  if (oddities.has("garbage"))
    process.stdout.write('Welcome!\n{"half": \n[1,2]\n\u0000\n{"jsonrpc":"1"}\n');
  if (message.id === undefined) continue;
  const response = { jsonrpc: "2.0", id: message.id, result: answer(message) };
  process.stdout.write(`${JSON.stringify(response)}\n`);
}
