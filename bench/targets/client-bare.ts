import { randomUUID } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import type { WireVersion } from "../client.ts";
import { type MeasuredClient, reportClient } from "./client-job.ts";
import { type Order, orderText } from "./order.ts";

/**
 * The cost of Node itself: `node:http` with keep-alive connections, and `JSON.parse` of every
 * response. Nothing is checked or aggregated, and no stream is ever resumed.
 */
const agent = new Agent({ keepAlive: true });

interface Artifact {
  readonly parts: readonly { readonly text: string }[];
}

/** The fields of both wire versions that are needed for the text of an answer. */
interface Result {
  readonly task?: { readonly artifacts: readonly Artifact[] };
  readonly artifacts?: readonly Artifact[];
  readonly artifactUpdate?: { readonly artifact: Artifact };
  readonly artifact?: Artifact;
}

reportClient(async (url, version): Promise<MeasuredClient> => {
  const is03 = version === "0.3";
  return {
    async send(order) {
      const params = is03 ? { configuration: { blocking: true } } : {};
      const method = is03 ? "message/send" : "SendMessage";
      const response = await post(url, { version, method, order, params });
      const { task, artifacts = task?.artifacts } = resultIn(await whole(response));
      return artifacts?.[0]?.parts[0]?.text ?? "";
    },
    async stream(order) {
      const method = is03 ? "message/stream" : "SendStreamingMessage";
      const response = await post(url, { version, method, order, params: {} });
      let text = "";
      await readEvents(response, (data) => {
        const { artifactUpdate, artifact = artifactUpdate?.artifact } = resultIn(data);
        text += artifact?.parts[0]?.text ?? "";
      });
      return text;
    },
  };
});

function resultIn(text: string): Result {
  return (JSON.parse(text) as { readonly result: Result }).result;
}

interface Call {
  readonly version: WireVersion;
  readonly method: string;
  readonly order: Order;
  readonly params: object;
}

function post(url: string, { version, method, order, params }: Call): Promise<IncomingMessage> {
  const text = orderText(order);
  const words =
    version === "0.3"
      ? { kind: "message", role: "user", parts: [{ kind: "text", text }] }
      : { role: "ROLE_USER", parts: [{ text }] };
  const message = { ...words, messageId: randomUUID() };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, message } });
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "a2a-version": version,
      },
    });
    outgoing.on("error", reject);
    outgoing.on("response", resolve);
    outgoing.end(body);
  });
}

function whole(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    response.on("data", (piece: Buffer) => pieces.push(piece));
    response.on("error", reject);
    response.on("end", () => resolve(Buffer.concat(pieces).toString()));
  });
}

/** Parses only what the servers of the benchmark write: one data line per event, after its id. */
function readEvents(response: IncomingMessage, read: (data: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = "";
    response.setEncoding("utf8");
    response.on("data", (piece: string) => {
      rest += piece;
      let start = 0;
      for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n", start)) {
        const data = rest.indexOf("data: ", start);
        if (data !== -1 && data < end) read(rest.slice(data + 6, end));
        start = end + 2;
      }
      rest = rest.slice(start);
    });
    response.on("error", reject);
    response.on("end", resolve);
  });
}
