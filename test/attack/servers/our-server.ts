import type { JSONWebKeySet } from "jose";
import { type ApiKeyRecord, createJsonLogger } from "@convoke/server";
import {
  type ServeAgentOptions,
  apiKeys,
  defineAgent,
  inputRequired,
  jwt,
  serve,
  tool,
} from "convoke";
import type { ModelRequest } from "@convoke/runtime";
import { type ScriptTurn, scriptedModel } from "@convoke/runtime/testing";
import { AUDIENCE, ISSUER } from "../token-issuer.ts";

/** What the process gets as its argument, as JSON. */
export interface OurServerOptions {
  readonly data: string;
  readonly keySet: JSONWebKeySet;
  readonly apiKeys: readonly ApiKeyRecord[];
  /** The host and port of the only private receiver of push notifications. */
  readonly receiver: string;
  readonly rateLimits: NonNullable<ServeAgentOptions["rateLimits"]>;
  readonly timeouts: NonNullable<ServeAgentOptions["timeouts"]>;
}

// Our server in its own process, with an agent that has something worth attacking. Everything that
// the options do not name has its default.

const options = JSON.parse(process.argv[2]!) as OurServerOptions;

const parameters = { type: "object", properties: {} } as const;

const tools = [
  tool({
    name: "erase",
    description: "Erases everything.",
    inputSchema: parameters,
    confirm: "ask",
    run: () => "erased",
  }),
  tool({
    name: "question",
    description: "Asks the caller.",
    inputSchema: parameters,
    async *run(_, { answers }) {
      if (answers.get("it") === undefined) yield inputRequired("Well?", { requestId: "it" });
      else yield "answered";
    },
  }),
  tool({
    name: "login",
    description: "Asks for a password.",
    inputSchema: parameters,
    async *run(_, { answers }) {
      const password = answers.get("password")?.text;
      if (password !== undefined) yield `logged in with ${password}`;
      else yield inputRequired("Password?", { requestId: "password", sensitive: true });
    },
  }),
];

const CALLS: Readonly<Record<string, string>> = {
  approval: "erase",
  ask: "question",
  secret: "login",
};

/** Calls the tool that the message names, or repeats the message. */
function answerTo({ transcript }: ModelRequest): ScriptTurn {
  const last = transcript.at(-1);
  if (last?.role !== "user") return "done";
  const text = last.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
  if (text === "large") return { kind: "text", text: "large".repeat(180_000) };
  const toolName = CALLS[text];
  return toolName === undefined ? `You said: ${text}` : { kind: "tool-call", toolName, input: {} };
}

const agent = defineAgent({
  name: "Target",
  description: "Repeats messages.",
  model: scriptedModel(Array.from({ length: 1_000_000 }, () => answerTo)),
  tools,
});

const server = await serve(agent, {
  port: 0,
  data: options.data,
  auth: [
    jwt({ issuer: ISSUER, audience: AUDIENCE, keys: options.keySet }),
    apiKeys({ keys: options.apiKeys }),
  ],
  tenants: ["north", "south"],
  push: { allow: [options.receiver] },
  logger: createJsonLogger("debug", (line) => void process.stderr.write(line)),
  rateLimits: options.rateLimits,
  timeouts: options.timeouts,
});

process.on("disconnect", () => process.exit());
process.send?.({ url: server.url });
