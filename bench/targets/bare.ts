import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chunkText } from "./chunk.ts";
import { report } from "./report.ts";

/**
 * What Node itself costs: parse the request, stringify every event of the same
 * stream, one `write` each. No validation, no log, no disk.
 */
const ids = {
  taskId: "01a1dd92-3a70-707f-8878-6323c3be3541",
  contextId: "01a1dd92-3a70-773d-b691-800de7410cc6",
};

interface Request {
  readonly id: number;
  readonly params: { readonly message: { readonly parts: readonly { readonly text: string }[] } };
}

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const { id, params } = JSON.parse(Buffer.concat(pieces).toString()) as Request;
    const count = Number(params.message.parts[0]?.text);
    let sequence = 0;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const send = (result: object): void => {
      response.write(
        `id: ${++sequence}\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`,
      );
    };
    const status = (state: string, final: boolean): object => ({
      kind: "status-update",
      ...ids,
      status: { state, timestamp: new Date().toISOString() },
      final,
    });
    send({
      kind: "task",
      id: ids.taskId,
      contextId: ids.contextId,
      status: { state: "submitted" },
      history: [params.message],
    });
    send(status("working", false));
    for (let place = 0; place < count; place++) {
      const artifact = {
        artifactId: "answer-1",
        parts: [{ kind: "text", text: chunkText(place) }],
      };
      send({ kind: "artifact-update", ...ids, artifact, append: place > 0 });
    }
    send({
      kind: "artifact-update",
      ...ids,
      artifact: { artifactId: "answer-1", parts: [{ kind: "text", text: "" }] },
      append: true,
      lastChunk: true,
    });
    send(status("completed", true));
    response.end();
  });
});

server.listen(0, "127.0.0.1", () =>
  report(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
);
