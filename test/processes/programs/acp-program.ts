import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

// A small program that speaks ACP, without the SDK, because it is started often. What it does is in
// the text of the prompt. It keeps its sessions in the folder MEMORY, if there is one.

interface Rpc {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, never>;
  readonly result?: unknown;
  readonly error?: unknown;
}

const memory = process.env["MEMORY"];
const waiting = new Map<number, (answer: Rpc) => void>();
let sessionId = "";
let said: string[] = [];
let isLoaded = false;
let mode = "ask";
let client: unknown;
let cancel: () => void = () => undefined;

const write = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionUpdate: string, fields: object): void =>
  write({ method: "session/update", params: { sessionId, update: { sessionUpdate, ...fields } } });
const say = (text: string, kind = "agent_message_chunk"): void =>
  update(kind, { content: { type: "text", text } });
const fileOf = (id: string): string => join(memory ?? "", `${id}.json`);

function ask(method: string, params: object): Promise<Rpc> {
  const id = waiting.size + 1;
  write({ id, method, params: { sessionId, ...params } });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function open(id: string): object {
  sessionId = id;
  isLoaded = memory !== undefined && existsSync(fileOf(id));
  if (isLoaded) said = JSON.parse(readFileSync(fileOf(id), "utf8")) as string[];
  const availableModes = ["ask", "yolo"].map((name) => ({ id: name, name }));
  return { sessionId, modes: { currentModeId: mode, availableModes } };
}

/** Asks before it writes a file, unless it was allowed before. */
async function writeFile(path: string, newText: string): Promise<void> {
  const oldText = existsSync(path) ? readFileSync(path, "utf8") : null;
  const toolCall = {
    toolCallId: `write-${said.length}-${process.pid}`,
    title: `Write ${path}`,
    kind: "edit",
    status: "pending",
    content: [{ type: "diff", path: join(process.cwd(), path), oldText, newText }],
  };
  const options = [
    { optionId: "yes", name: "Allow", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ];
  const { result } = await ask("session/request_permission", { toolCall, options });
  const { optionId } = (result as { outcome: { optionId?: string } }).outcome;
  if (optionId === "yes") writeFileSync(path, newText);
  const status = optionId === "yes" ? "completed" : "failed";
  update("tool_call_update", { toolCallId: toolCall.toolCallId, status });
  say(optionId === "yes" ? "It is written." : "It is not written.");
}

const COMMANDS: Readonly<Record<string, (rest: string) => void | string | Promise<void | string>>> =
  {
    say: (rest) => rest.split(" ").forEach((word) => say(`${word} `)),
    recall: () => say(said.join(" | ")),
    mode: () => say(mode),
    client: () => say(JSON.stringify(client)),
    work: () => {
      say("**Look** first", "agent_thought_chunk");
      say(" and then act.", "agent_thought_chunk");
      update("plan", { entries: [{ content: "read", status: "in_progress", priority: "low" }] });
      update("tool_call", {
        toolCallId: "1",
        title: "Read a.txt",
        kind: "read",
        rawInput: { n: 1 },
      });
      const content = [{ type: "content", content: { type: "text", text: "its text" } }];
      update("tool_call_update", { toolCallId: "1", status: "completed", content });
      say("Done.");
    },
    write: (rest) => writeFile(rest.split(": ")[0]!, rest.split(": ")[1]!),
    read: async (path) => {
      const { result, error } = await ask("fs/read_text_file", { path });
      say(JSON.stringify(result ?? error));
    },
    facts: () =>
      say(JSON.stringify({ argv: process.argv.slice(2), env: process.env, cwd: process.cwd() })),
    refuse: () => "refusal",
    error: () => Promise.reject(new Error("secret of the program")),
    crash: () => process.exit(3),
    /** Another process that loads the session goes on. */
    stumble: () => (isLoaded ? say("I went on.") : process.exit(3)),
    flood: () => void process.stdout.write("x".repeat(3_000_000)),
    pause: async () => {
      say("one ");
      await new Promise((resolve) => setTimeout(resolve, 300));
      say("two");
    },
    hang: () => {
      say("I wait.");
      return new Promise((resolve) => (cancel = () => resolve("cancelled")));
    },
    stubborn: () => {
      process.on("SIGTERM", () => undefined);
      const child = spawn("sleep", ["1000"], { stdio: "ignore" });
      say(`${process.pid} ${child.pid}`);
      return new Promise(() => setInterval(() => undefined, 1000));
    },
  };

async function prompt(blocks: readonly { text?: string }[]): Promise<object> {
  const text = blocks.map((block) => block.text ?? "").join("");
  said.push(text);
  if (memory !== undefined) writeFileSync(fileOf(sessionId), JSON.stringify(said));
  const [word = "", ...rest] = text.split("\n").at(-1)!.split(/ (.*)/s);
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word]! : COMMANDS["recall"]!;
  return { stopReason: (await command(rest[0] ?? "")) ?? "end_turn" };
}

const METHODS: Readonly<Record<string, (params: Record<string, never>) => unknown>> = {
  initialize: ({ clientInfo }) => {
    client = clientInfo;
    return { protocolVersion: 1, agentCapabilities: { loadSession: memory !== undefined } };
  },
  "session/new": () => open(`session-${process.pid}-${Date.now()}`),
  "session/load": ({ sessionId: id }) => {
    const opened = open(id ?? "");
    if (!isLoaded) throw new Error("there is no such session");
    // It repeats the conversation after the response, as some programs do.
    setImmediate(() => said.forEach((text) => say(`earlier: ${text}`)));
    return opened;
  },
  "session/set_mode": ({ modeId }) => void (mode = modeId ?? ""),
  "session/prompt": ({ prompt: blocks }) => prompt(blocks as never),
};

async function take(message: Rpc): Promise<void> {
  const { id, method } = message;
  if (method === undefined) return waiting.get(id!)?.(message);
  if (method === "session/cancel") return cancel();
  try {
    write({ id, result: (await METHODS[method]!(message.params ?? {})) ?? {} });
  } catch (error) {
    write({ id, error: { code: -32000, message: (error as Error).message } });
  }
  return undefined;
}

createInterface({ input: process.stdin }).on("line", (line) => void take(JSON.parse(line) as Rpc));
