import { agentMessage } from "@convoke/protocol";
import type { TaskRecord } from "./backend.ts";
import type { Engine } from "./engine.ts";
import { newId } from "./new-id.ts";

const PAGE = 256;

/**
 * Ends what an earlier process left unfinished: that process is gone, and its
 * runs with it. Resolves to how many tasks there were (G3).
 */
export async function recover(engine: Engine): Promise<number> {
  let count = 0;
  for (let after = ""; ;) {
    const records = await engine.backend.tasks.unfinished(after, PAGE);
    await Promise.all(records.map((record) => interrupt(engine, record)));
    count += records.length;
    if (records.length < PAGE) return count;
    after = records.at(-1)?.taskId ?? after;
  }
}

async function interrupt(engine: Engine, record: TaskRecord): Promise<void> {
  const live = await engine.open(record);
  const text = "The server stopped while the agent was working on this task.";
  const message = agentMessage(newId(engine.now()), text);
  const failed = engine.status(live, "failed", { message, reason: "interrupted" });
  await live.writer.append([failed], { epoch: live.writer.fence(), listed: true });
  engine.release(live);
}
