import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** What the Gemini API calls a part, as far as it is read or written here. */
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

/** What the model says when it is its turn. It sees what it is asked, as a real one does. */
type Line = (request: ModelRequest) => Part;

/**
 * A model that says what a test wrote, over the wire format of the Gemini API. Each request takes
 * the next line; what is not in the script is refused and noted down.
 */
export class ScriptedModel {
  readonly url: string;
  /** Requests that the script has no line for. */
  readonly surprises: string[] = [];
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

  /** What the model is told before it says anything. */
  get instruction(): string {
    return this.#requests[0]?.systemInstruction?.parts.map(({ text }) => text).join("") ?? "";
  }

  /** What came back for each of its calls. */
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
    const content: Content = { role: "model", parts: [line(asked)] };
    const chunk = {
      candidates: [{ content, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
  }
}

/** The model has an agent called by its name. */
export function calls(agentName: string, prompt: string): Line {
  const args = { agent_name: agentName, prompt };
  return () => ({ functionCall: { name: "invoke_agent", args } });
}

/** The model tells its user what came back for its last call. */
export const reports: Line = (request) => ({
  text: `It answered: ${JSON.stringify(resultIn(request))}`,
});

function resultIn({ contents }: ModelRequest): object {
  const results = contents.at(-1)?.parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  if (results?.length === 1 && results[0] !== undefined) return results[0].response;
  throw new Error(`This is not the result of one call: ${JSON.stringify(contents.at(-1))}`);
}
