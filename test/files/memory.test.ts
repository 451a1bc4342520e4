import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Task } from "@convoke/protocol";
import { type BlobStore, connect, createFolderBlobStore, defineAgent, serve } from "convoke";
import { expect, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aFileMessage, fileIn, sha256 } from "./a-file.ts";

const SIZE = Number(process.env["CONVOKE_FILE_MB"] ?? 12) * 1_000_000;

/** Reads the file piece by piece, and returns it. */
const counter = defineAgent({
  name: "Counter",
  description: "Counts bytes.",
  inputModes: ["*/*"],
  async *run({ message, files, artifact }) {
    const part = fileIn(message.parts);
    let bytes = 0;
    for await (const piece of files!.stream(part)) bytes += piece.byteLength;
    yield artifact("copy", [part]);
    yield `${bytes} bytes`;
  },
});

test("a large file is sent, stored once outside of the log, and read only as fast as it is downloaded", async () => {
  const content = Buffer.alloc(SIZE, "0123456789abcdefghijklmnopq");
  const limits = { bodyBytes: 100_000_000, artifactLength: 100_000_000 };
  const folder = createFolderBlobStore(temporaryFolder());
  let bytesRead = 0;
  const store: BlobStore = {
    put: (...call) => folder.put(...call),
    size: (address) => folder.size(address),
    deleteTask: (taskId) => folder.deleteTask(taskId),
    tasks: () => folder.tasks(),
    below: (name) => folder.below(name),
    async get(...call) {
      const pieces = await folder.get(...call);
      return pieces && counted(pieces, (length) => (bytesRead += length));
    },
  };
  const options = { port: 0, data: temporaryFolder(), limits, files: { store } };
  await using server = await serve(counter, options);
  const agent = await connect(server.url);

  const task = await send(server.url, content);
  const link = fileIn(task.artifacts?.[0]?.parts).file.uri ?? "";
  bytesRead = 0;
  const pieces = (await fetch(link)).body!.values();
  let size = (await pieces.next()).value?.byteLength ?? 0;
  await sleep(200);
  // The rest waits in the file, except for what the buffers of the sockets hold.
  expect(bytesRead).toBeLessThan(SIZE);
  for await (const piece of pieces) size += piece.byteLength;

  const [, text] = task.artifacts ?? [];
  expect(text?.parts).toMatchObject([{ text: `${SIZE} bytes` }]);
  expect([size, bytesRead]).toEqual([SIZE, SIZE]);
  expect(statSync(join(server.folder!, "tasks.db-wal")).size).toBeLessThan(1_000_000);
  const read = await agent.readFile(fileIn(task.history?.[0]?.parts));
  expect(sha256(read)).toBe(sha256(content));
  await expect(
    agent.readFile(fileIn(task.history?.[0]?.parts), { maxBytes: 1000 }),
  ).rejects.toThrow("larger than 1000 bytes");
}, 120_000);

async function send(url: string, content: Buffer): Promise<Task> {
  const params = { message: aFileMessage(content) };
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params }),
  });
  return ((await answer.json()) as { readonly result: Task }).result;
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  count: (length: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    count(piece.byteLength);
    yield piece;
  }
}
