import type { CommitMode } from "./local-writer.ts";
import { openWithWorker, startWorker } from "./sqlite-backend.ts";

// A process that holds a data folder and, when told to, writes in a loop until it
// is killed. It prints "<task> <head>" for each commit that was acknowledged.

const [folder = "", work, durability, mode = "auto"] = process.argv.slice(2);
const backend = await openWithWorker(
  {
    folder,
    holder: { port: 4711 },
    durability: durability === "process" ? "process" : "power",
  },
  startWorker,
  mode as CommitMode,
);
process.stdout.write("open\n");
const tasks = work === "write" ? ["t1", "t2", "t3"] : [];
await Promise.all(tasks.map((taskId, index) => writeForEver(taskId, index + 1)));

async function writeForEver(taskId: string, size: number): Promise<never> {
  const before = await backend.tasks.get(taskId);
  let head = before?.head ?? 0;
  const create = { owner: "ann", contextId: "context", agent: "greeter", createdAt: 0 };
  for (let isNew = before === undefined; ; isNew = false) {
    const events = Array.from({ length: size }, (_, index) =>
      JSON.stringify({ seq: head + index + 1, text: "x".repeat(200) }),
    );
    const step = { taskId, epoch: 1, events, state: "working", statusAt: 0, listed: true } as const;
    const committed = await backend.commit(isNew ? { ...step, create } : step);
    if (committed.kind !== "committed") throw new Error(`refused: ${committed.kind}`);
    head = committed.head;
    // The next commit waits until this is written, also if the test reads slowly.
    await new Promise((written) => process.stdout.write(`${taskId} ${head}\n`, written));
  }
}
