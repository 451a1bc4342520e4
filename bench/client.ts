import { Agent, request } from "node:http";
import { SseDecoder } from "@convoke/protocol";
import { chunkText } from "./targets/chunk.ts";

const agent = new Agent({ keepAlive: true });
let messages = 0;

/** How each wire version asks for a stream. */
const BODIES = {
  "0.3": (text: string) => ({
    method: "message/stream",
    params: {
      message: {
        kind: "message",
        messageId: `m${++messages}-${process.pid}`,
        role: "user",
        parts: [{ kind: "text", text }],
      },
    },
  }),
  "1.0": (text: string) => ({
    method: "SendStreamingMessage",
    params: {
      message: { messageId: `m${++messages}-${process.pid}`, role: "ROLE_USER", parts: [{ text }] },
    },
  }),
};

export type WireVersion = keyof typeof BODIES;

export interface Streamed {
  readonly firstByteMs: number;
  /** Everything that came, for `verify`. */
  readonly body: string;
}

/** Streams one answer of `count` chunks. Nothing is decoded while the server is measured. */
export function streamAnswer(url: string, version: WireVersion, count: number): Promise<Streamed> {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, ...BODIES[version](String(count)) });
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text) },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const pieces: Buffer[] = [];
      let firstByteMs = 0;
      response.on("data", (piece: Buffer) => {
        firstByteMs ||= performance.now() - started;
        pieces.push(piece);
      });
      response.on("error", reject);
      response.on("end", () => resolve({ firstByteMs, body: Buffer.concat(pieces).toString() }));
    });
    outgoing.end(text);
  });
}

/** A figure of a wrong answer is no figure: every chunk is there, once, in order, and the stream ended. */
export function verify({ body }: Streamed, count: number): void {
  const events = new SseDecoder().push(body).map(({ data }) => data);
  const texts = events
    .map((data) => /"text":"(chunk \d+ [^"]*)"/.exec(data)?.[1])
    .filter((text) => text !== undefined);
  const expected = Array.from({ length: count }, (_, place) => chunkText(place));
  if (texts.join("") !== expected.join(""))
    throw new Error(`expected ${count} chunks, got ${texts.length}`);
  if (!/completed|COMPLETED/.test(events.at(-1) ?? ""))
    throw new Error("the stream did not end with its task");
}
