import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolveModel } from "../../models/resolve-model.ts";
import type { Model } from "../../model/model.ts";
import type { ModelOptions } from "../../models/model-options.ts";
import { type ScriptTurn, stepsOf } from "../../models/script/script-step.ts";
import { formatOf, wireOf } from "./formats.ts";
import { OpenRequest } from "./open-request.ts";
import type { ServedRequest } from "./served-request.ts";
import { writeAnswer } from "./write-answer.ts";

/** The answer to one request, or a function that chooses it by the request. */
export type ServedTurn = ScriptTurn | ((request: ServedRequest) => ScriptTurn);

/** One turn per request, or a function that answers all requests. */
export type ServedScript = readonly ServedTurn[] | ((request: ServedRequest) => ScriptTurn);

/** The providers that can be directed to this server. */
export type ServedProvider = "anthropic" | "google" | "openai" | "ollama" | "openai-compatible";

export interface ScriptedModelServer {
  /** For example `http://127.0.0.1:41234`. */
  readonly url: string;
  /** All requests received, in order. */
  readonly requests: readonly ServedRequest[];
  /**
   * Environment variables (keys and base URLs) that direct every provider to this server, for
   * `resolveModel` or a child process.
   */
  readonly environment: Readonly<Record<string, string>>;
  /** The model spec for `resolveModel`, by provider. */
  readonly specs: Readonly<Record<ServedProvider, string>>;
  /** Creates the real provider's model, directed to this server. */
  model(provider: ServedProvider, options?: ModelOptions): Promise<Model>;
  close(): Promise<void>;
}

/**
 * Starts a server on loopback that implements the APIs of Anthropic, Google and OpenAI and answers
 * from a script. The same script has the same meaning in every format.
 */
export async function startScriptedModelServer(script: ServedScript): Promise<ScriptedModelServer> {
  const requests: OpenRequest[] = [];
  let calls = 0;
  const nextId = (): string => `call_${(calls += 1)}`;

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const format = formatOf(incoming.url ?? "");
    const body = await bodyOf(incoming);
    if (format === undefined) return refuse(response, `no provider has ${incoming.url}`);
    const request = new OpenRequest({
      incoming,
      response,
      body,
      format,
      number: requests.length + 1,
    });
    requests.push(request);
    const turn = turnOf(script, request);
    if (turn === undefined) return refuse(response, `the script has no turn ${request.number}`);
    await writeAnswer({ request, wire: wireOf(format), steps: stepsOf(turn, nextId) });
  };
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => refuse(response, String(error)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = environmentOf(url);
  const specs = specsOf(url);
  return {
    url,
    requests,
    environment,
    specs,
    model: (provider, options) => resolveModel(specs[provider], { environment, ...options }),
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function turnOf(script: ServedScript, request: ServedRequest): ScriptTurn | undefined {
  const turn = typeof script === "function" ? script : script[request.number - 1];
  return typeof turn === "function" ? turn(request) : turn;
}

function environmentOf(url: string): Readonly<Record<string, string>> {
  const key = "scripted-key";
  return {
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_BASE_URL: `${url}/anthropic/v1`,
    GOOGLE_GENERATIVE_AI_API_KEY: key,
    GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/google/v1beta`,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${url}/openai/v1`,
    OPENAI_COMPATIBLE_API_KEY: key,
    OLLAMA_HOST: url,
  };
}

function specsOf(url: string): Readonly<Record<ServedProvider, string>> {
  return {
    anthropic: "anthropic:claude-sonnet-4-5",
    google: "google:gemini-2.5-pro",
    openai: "openai:gpt-5",
    ollama: "ollama:llama3.2",
    "openai-compatible": `${url}/v1#scripted`,
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}") as Record<string, unknown>;
}

function refuse(response: ServerResponse, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(400, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "script_error" } }));
}
