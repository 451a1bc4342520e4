import { randomUUID } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createFolderBlobStore } from "@convoke/backends/files";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import {
  type Backend,
  type BlobStore,
  type RunningEngine,
  acceptMessage,
  startEngine,
} from "@convoke/engine";
import { userMessage } from "@convoke/protocol";
import { defineAgent } from "@convoke/runtime";
import { memoryLogger } from "../engine/an-engine.ts";

/** Where tasks are: in a data folder, or in a database with a folder for the large files. */
export interface Place {
  readonly folder: string;
  readonly database?: string | undefined;
}

/** Returns many pieces and a large file with the text of the message, or asks. */
const filer = defineAgent({
  name: "Filer",
  description: "Files what it gets.",
  async *run({ text, ask, artifact }) {
    yield artifact("copy", Buffer.from(`${text} `.repeat(Math.ceil(70_000 / (text.length + 1)))));
    for (let piece = 0; piece < 40; piece++) yield `${text} ${"x".repeat(1000)} `;
    if (text.includes("ask")) await ask(text);
  },
});

/**
 * Runs an engine on the storage. Notifications go to a port at which nothing listens.
 *
 * @param wrap replaces parts of the storage
 */
export async function startFiler(
  { folder, database }: Place,
  wrap: <Part extends object>(part: Part) => Part = (part) => part,
): Promise<RunningEngine> {
  const opened =
    database === undefined
      ? await openSqliteBackend({ folder, durability: "process" })
      : await openPostgresBackend({ url: database });
  const blobs: BlobStore = opened.blobs ?? createFolderBlobStore(filesIn({ folder }));
  const backend: Backend = {
    tasks: opened.tasks,
    pushes: opened.pushes,
    retention: wrap(opened.retention),
    ...(opened.sharing && { sharing: opened.sharing }),
    commit: (step) => opened.commit(step),
    read: (...args) => opened.read(...args),
    watch: (...args) => opened.watch(...args),
    close: () => opened.close(),
  };
  return startEngine({
    agent: filer,
    backend,
    logger: memoryLogger(),
    files: { store: wrap(blobs) },
    push: { allow: ["127.0.0.1"] },
  });
}

/** The folder that has the large files. */
export function filesIn({ folder }: Pick<Place, "folder">): string {
  return join(folder, "files");
}

/** Sends a message with a push config, and waits for the end of its turn. Resolves to the task. */
export async function fileTask(
  { engine }: RunningEngine,
  { owner, contextId, text }: Record<"owner" | "contextId" | "text", string>,
): Promise<string> {
  const url = `http://127.0.0.1:9/${text.replaceAll(" ", "-")}`;
  const { live } = await acceptMessage(engine, {
    message: { ...userMessage(randomUUID(), text), contextId },
    caller: { owner },
    push: (_taskId, cursor) => ({
      id: "hook",
      config: JSON.stringify({ id: "hook", url }),
      cursor,
    }),
  });
  await engine.tasks.until(live, ({ task }) =>
    ["completed", "input-required"].includes(task.status.state),
  );
  return live.writer.taskId;
}

/** The files below a folder that contain a text. */
export function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}
