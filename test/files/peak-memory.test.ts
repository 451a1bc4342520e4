import { type A2APart, EXTENSIONS, type Task } from "@convoke/protocol";
import { expect, onTestFinished, test } from "vitest";
import { aMessage } from "../conformance/requests.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { CONTENT, aFileMessage, fileIn, sha256 } from "./a-file.ts";

const MB = 1_000_000;

const SIZE = Number(process.env["CONVOKE_FILE_MB"] ?? 12) * MB;

/** What a process needs in addition, whatever the size of the file is: compiled code, small objects, garbage. */
const SLACK = 50 * MB;

test("a server needs a few times the memory of a file to receive it or to send it as bytes, and none to send it by its link", async () => {
  const data = temporaryFolder();
  const content = Buffer.alloc(SIZE, "0123456789abcdefghijklmnopq");

  const receiver = await KeepingServer.start(data);
  const task = await receiver.send(aFileMessage(content).parts);
  const received = peakIn(task) - receiver.peakBefore;
  await receiver.stop();
  const reader = await KeepingServer.start(data);
  const range = await reader.read(`/convoke/files/${task.id}/${sha256(content)}`);
  const linked = (await reader.peak()) - reader.peakBefore;
  const { history } = await reader.call<Task>("tasks/get", { id: task.id });
  const sent = (await reader.peak()) - reader.peakBefore;

  const added = { received, linked, sent };
  const line = Object.entries(added).map(([name, bytes]) => `${name} ${Math.round(bytes / MB)} MB`);
  process.stdout.write(`A file of ${SIZE / MB} MB added: ${line.join(", ")}\n`);
  expect(range).toBe(SIZE - 1000);
  expect(fileIn(history?.[0]?.parts).file.bytes?.length).toBe(4 * Math.ceil(SIZE / 3));
  expect(received).toBeLessThan(8 * SIZE + SLACK);
  expect(linked).toBeLessThan(SLACK);
  expect(sent).toBeLessThan(6 * SIZE + SLACK);
}, 120_000);

/** A server in a process of its own, which has served a few requests. */
class KeepingServer {
  readonly stop: () => Promise<unknown>;
  readonly #url: string;
  peakBefore = 0;

  private constructor(url: string, stop: () => Promise<unknown>) {
    this.#url = url;
    this.stop = stop;
  }

  static async start(data: string): Promise<KeepingServer> {
    const script = new URL("keeping-server.ts", import.meta.url);
    const started = new ScriptProcess(script, { CONVOKE_DATA: data });
    onTestFinished(async () => void (await started.kill()));
    const server = new KeepingServer(await started.ready, () => started.kill());
    for (let count = 0; count < 5; count++) {
      const { id } = await server.send(aFileMessage(CONTENT).parts);
      await server.call("tasks/get", { id });
    }
    server.peakBefore = await server.peak();
    return server;
  }

  async peak(): Promise<number> {
    return peakIn(await this.send([{ kind: "text", text: "memory?" }]));
  }

  /** The answer has no history, so that it is short. */
  send(parts: readonly A2APart[]): Promise<Task> {
    const message = { ...aMessage(""), parts };
    return this.call("message/send", { message, configuration: { historyLength: 0 } });
  }

  async call<Result>(method: string, params: object): Promise<Result> {
    const answer = await fetch(this.#url, {
      method: "POST",
      // The server then computes a digest of the message, too.
      headers: {
        "content-type": "application/json",
        "x-a2a-extensions": EXTENSIONS.idempotency.uri,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return ((await answer.json()) as { readonly result: Result }).result;
  }

  /** Reads all of a file except its first 1000 bytes, and returns how many there were. */
  async read(path: string): Promise<number> {
    const { body } = await fetch(new URL(path, this.#url), { headers: { range: "bytes=1000-" } });
    let size = 0;
    for await (const piece of body!) size += piece.byteLength;
    return size;
  }
}

function peakIn({ artifacts }: Task): number {
  const part = artifacts?.[0]?.parts[0];
  return part?.kind === "text" ? Number(part.text) : Number.NaN;
}
