import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { SpaceReclaimer } from "./space-reclaimer.ts";
import { connectToTaskDatabase } from "./task-database.ts";
import { readBatch } from "./batch-message.ts";
import { BatchWriter, applyBatch } from "./batch-writer.ts";
import type { FromWriter, ToWriter, WriterSettings } from "./thread-messages.ts";

// The writer thread, which writes what the event loop of the main thread should not wait for. It
// imports no package except `@convoke/engine/backend`, which is one small file, so that it starts
// quickly.

// It can also be loaded elsewhere, where it does nothing: see `runWriter`.
const given = workerData as Partial<WriterSettings> | null | undefined;
if (parentPort !== null && given?.followers !== undefined) {
  runWriter(parentPort, given as WriterSettings);
}

/** The connection of the writer to the thread that it writes for. */
export type WriterPort = Pick<MessagePort, "postMessage" | "close"> & {
  on(event: "message", receive: (message: ToWriter) => void): unknown;
};

/** Connects to the database and writes the batches that arrive at the port, until the message `close`. */
export function runWriter(port: WriterPort, settings: WriterSettings): void {
  const answer = (message: FromWriter): void => port.postMessage(message);
  const database = connectToTaskDatabase(settings);
  const writer = new BatchWriter(database, settings);
  const reclaimer = new SpaceReclaimer(database, settings.busyTimeoutMs);
  port.on("message", (message: ToWriter) => {
    if (message === "reclaim") return answer(reclaimer.reclaim());
    if (message === "purge") return answer(reclaimer.purge());
    if (message === "checkpoint") return answer(reclaimer.checkpoint());
    if (message !== "close") return answer(applyBatch(database, writer, readBatch(message)));
    database.close();
    port.close();
  });
}
