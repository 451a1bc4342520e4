import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Task,
  type TaskState,
  isInterrupted,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { expect } from "vitest";
import { writeAgent } from "../start/agent-file.ts";
import { serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "../wire/dialect.ts";
import { WireClient } from "../wire/wire-client.ts";
import type { Frame } from "../wire/wire-stream.ts";
import { interruptible } from "./interruptible.ts";
import { INTERRUPTED, V03, V1, killUnder, lastOf, listAll, readLog } from "./logs.ts";

/** Callers send again what got no answer, and activate no extension. */
const ONCE = { CONVOKE_IDEMPOTENCY: "always" };

/** The command that brings a task of the demo agent into a state and leaves it there. */
const WORDS: Readonly<Record<string, TaskState>> = {
  "slow 10000": "working",
  ask: "input-required",
  auth: "auth-required",
  hello: "completed",
  artifact: "completed",
  fail: "failed",
  reject: "rejected",
};

/** The text of a task's artifacts. */
function writtenIn({ artifacts = [] }: Task): string {
  return textOfParts(artifacts.flatMap(({ parts }) => parts));
}

verifies(
  ["G3", "G5"],
  "finished and waiting tasks stay unchanged, and working tasks end as interrupted",
  async () => {
    const cwd = temporaryFolder();
    const args = interruptible(cwd);
    const first = await serveConvoke({ cwd, args, env: ONCE });
    const client = new WireClient(first, V03);
    const said = Object.entries(WORDS).map(async ([word, state]) => {
      const configuration = { blocking: state !== "working" };
      const { id } = await client.sendTask(word, { configuration });
      return id;
    });
    const ids = await Promise.all(said);
    const canceled = await client.sendTask("slow 10000", { configuration: V03.atOnce });
    await client.cancel(canceled.id);
    const before = await Promise.all([...ids, canceled.id].map((id) => client.get(id)));
    expect(before.map(({ status }) => status.state)).toEqual([...Object.values(WORDS), "canceled"]);
    const message = { messageId: "direct" };
    const direct = client.resultOf(await client.send("message", { message }));
    const finished = before.filter(({ status }) => isTerminal(status.state));
    const logs = new Map<string, readonly Frame[]>();
    for (const { id } of finished) logs.set(id, await readLog(first, id));

    await killUnder(first);

    const second = await serveConvoke({ cwd, args, env: ONCE });
    const listed = await listAll(second);
    const again = new WireClient(second, V03);
    expect(second.program.stdout).toContain("1 ended, 2 waiting");
    for (const task of before) {
      const now = await again.get(task.id);
      expect(listed.get(task.id)).toBe(now.status.state);
      if (isTerminal(task.status.state)) {
        expect(now).toEqual(task);
        expect(await readLog(second, task.id)).toEqual(logs.get(task.id));
      } else if (isInterrupted(task.status.state)) {
        // A question waits for its answer, regardless of which process asked it.
        expect(now).toEqual(task);
        const answered = await again.sendTask("Ann", { message: { taskId: task.id } });
        expect(answered.status.state).toBe("completed");
      } else {
        expect(lastOf(await readLog(second, task.id))).toMatchObject(INTERRUPTED);
        expect(now.status.state).toBe("failed");
        // A working task may have emitted more before the end.
        expect(writtenIn(now).startsWith(writtenIn(task))).toBe(true);
      }
    }
    expect([...listed.keys()].toSorted()).toEqual(before.map(({ id }) => id).toSorted());
    expect(direct.kind).toBe("message");
    expect(again.resultOf(await again.send("message", { message }))).toEqual(direct);
  },
);

verifies(
  ["G3", "G6"],
  "a task that had written nothing yet starts again, and a retry of its message joins it",
  async () => {
    const cwd = temporaryFolder();
    const agent = writeAgent(
      cwd,
      `import { appendFileSync } from "node:fs";
       import { setTimeout as sleep } from "node:timers/promises";
       export default defineAgent({
         name: "Ponderer",
         description: "Thinks for long before it shows whether there will be a task.",
         replies: true,
         async *run({ signal, attempt }) {
           appendFileSync("runs", "run ");
           if (attempt === 1) await sleep(600_000, undefined, { signal });
           yield "Done.";
         },
       });`,
    );
    const args = ["serve", agent];
    const first = await serveConvoke({ cwd, args, env: ONCE });
    const client = new WireClient(first, V1);
    const message = { messageId: "m1" };
    const stream = await client.stream("think", { message });
    expect(await listAll(first)).toEqual(new Map());

    const [shown] = await killUnder(first, [stream]);

    const second = await serveConvoke({ cwd, args, env: ONCE });
    expect(shown).toEqual([]);
    const retried: Task[] = [];
    for (const dialect of DIALECTS) {
      retried.push(await new WireClient(second, dialect).sendTask("think", { message }));
    }
    const seen = retried.map(({ id, status }) => [id, status.state]);
    expect(seen).toEqual(DIALECTS.map(() => [retried[0]?.id, "completed"]));
    expect((await listAll(second)).size).toBe(1);
    expect(readFileSync(join(cwd, "runs"), "utf8")).toBe("run run ");
  },
);
