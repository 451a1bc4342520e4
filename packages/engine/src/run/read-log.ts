import type { Seq } from "../log/backend.ts";
import type { Engine } from "./engine.ts";
import { type LogEntry, readEntry } from "../log/log-entry.ts";

/**
 * What follows in a log: from the memory of who writes it as long as it is
 * there, else from the store. That memory is a turn of the event loop behind
 * the commit, so whoever was woken by one waits for that turn.
 */
export async function readLog(
  engine: Engine,
  taskId: string,
  { after, limit }: { readonly after: Seq; readonly limit: number },
): Promise<readonly LogEntry[]> {
  const remembered = engine.tasks.get(taskId)?.writer.tail.after(after, limit);
  if (remembered !== undefined) return remembered;
  return (await engine.backend.read(taskId, after, limit)).map(readEntry);
}
