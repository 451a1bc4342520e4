import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A part in the Gemini API, as far as it is read or written here. */
interface Part {
  readonly text?: string;
  readonly functionCall?: { readonly name: string; readonly args: object };
  readonly functionResponse?: { readonly name: string; readonly response: object };
}

interface Content {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** The body of a request for `streamGenerateContent`. */
interface ModelRequest {
  readonly contents: readonly Content[];
  readonly systemInstruction?: Content;
}

/** The answer of the model. It sees its input, as a real one does. */
type Line = (request: ModelRequest) => Part | undefined;

/**
 * A scripted model over the wire format of the Gemini API. Each request takes the next line;
 * unexpected requests are rejected and recorded.
 */
export class ScriptedModel {
  readonly url: string;
  /** Requests that the script has no line for. */
  readonly surprises: string[] = [];
  /** Requests that get no answer. */
  hanging = 0;
  readonly #script: readonly Line[];
  readonly #requests: ModelRequest[] = [];

  private constructor(url: string, script: readonly Line[]) {
    this.url = url;
    this.#script = script;
  }

  static async start(...script: readonly Line[]): Promise<ScriptedModel> {
    const server = createServer((request, response) => void model.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const model = new ScriptedModel(`http://127.0.0.1:${port}`, script);
    return model;
  }

  /** The input of the model before its first answer. */
  get instruction(): string {
    return this.#requests[0]?.systemInstruction?.parts.map(({ text }) => text).join("") ?? "";
  }

  /** The result of each of its calls. */
  get results(): readonly object[] {
    return this.#requests.slice(1).map(resultIn);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "" } = request;
    const asked = (await json(request)) as ModelRequest;
    const line = this.#script[this.#requests.length];
    if (!url.endsWith(":streamGenerateContent?alt=sse") || line === undefined) {
      this.surprises.push(`${method} ${url}`);
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: 400, message: "not in the script" } }));
      return;
    }
    this.#requests.push(asked);
    const part = line(asked);
    if (part === undefined) {
      this.hanging += 1;
      return;
    }
    const content: Content = { role: "model", parts: [part] };
    const chunk = {
      candidates: [{ content, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
  }
}

/** The model does not answer. */
export const hangs: Line = () => undefined;

/** The model says something. */
export function says(text: string): Line {
  return () => ({ text });
}

/** The model calls a tool of the CLI. */
export function callsTool(name: string, args: object): Line {
  return () => ({ functionCall: { name, args } });
}

/** The model calls an agent by name. */
export function calls(agentName: string, prompt: string): Line {
  const args = { agent_name: agentName, prompt };
  return () => ({ functionCall: { name: "invoke_agent", args } });
}

/** The model repeats the result of its last call. */
export const reports: Line = (request) => ({
  text: `It answered: ${JSON.stringify(resultIn(request))}`,
});

function resultIn({ contents }: ModelRequest): object {
  const results = contents.at(-1)?.parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  if (results?.length === 1 && results[0] !== undefined) return results[0].response;
  throw new Error(`This is not the result of one call: ${JSON.stringify(contents.at(-1))}`);
}
