import { type IncomingMessage, request } from "node:http";
import { SseDecoder, type SseEvent } from "@convoke/protocol";

/** A client of `message/stream` on its own socket. It reads nothing until it is told to. */
export class HttpReader {
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage) {
    this.#response = response;
  }

  /** Resolves when the server has started to respond. */
  static open(url: string, method: string, params: unknown): Promise<HttpReader> {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      const asking = request(url, { method: "POST", headers, agent: false }, (response) => {
        response.on("error", () => undefined);
        resolve(new HttpReader(response));
      });
      asking.on("error", reject);
      asking.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    });
  }

  /** Reads to the end and passes on each event. */
  async read(take: (event: SseEvent) => void): Promise<void> {
    const decoder = new SseDecoder();
    this.#response.setEncoding("utf8");
    for await (const text of this.#response) {
      for (const event of decoder.push(text as string)) take(event);
    }
  }

  /** Disconnects without notice. */
  hangUp(): void {
    this.#response.destroy();
  }
}
