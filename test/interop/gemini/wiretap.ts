import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request and its response, as sent on the wire. */
interface Exchange {
  /** Method and path. */
  readonly target: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly status: number;
  readonly answer: string;
}

/** A proxy between a caller and a server that records everything. */
export class Wiretap {
  readonly url: string;
  /** The port of the server behind it. */
  port = 0;
  /** Completed exchanges, in the order in which they ended. */
  readonly exchanges: Exchange[] = [];

  private constructor(url: string) {
    this.url = url;
  }

  static async start(): Promise<Wiretap> {
    const server = createServer((incoming, response) => void tap.#pass(incoming, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const tap = new Wiretap(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return tap;
  }

  async #pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path, headers } = incoming;
    const body = await text(incoming);
    const onward = request({ host: "127.0.0.1", port: this.port, method, path, headers });
    onward.end(body);
    const [answer] = (await once(onward, "response")) as [IncomingMessage];
    const { statusCode: status = 502 } = answer;
    response.writeHead(status, answer.headers);
    let answered = "";
    for await (const chunk of answer.setEncoding("utf8")) {
      answered += chunk as string;
      response.write(chunk);
    }
    this.exchanges.push({ target: `${method} ${path}`, headers, body, status, answer: answered });
    response.end();
  }
}
