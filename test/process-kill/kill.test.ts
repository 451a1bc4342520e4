import { textOfParts } from "@convoke/protocol";
import { type RemoteAgent, type Run, connect } from "convoke";
import { expect, onTestFinished, test, vi } from "vitest";
import { MortalServer } from "../harness/mortal-server.ts";
import { acpOptions, isRunning } from "../processes/a-process-agent.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

/** Starting processes takes long on a busy machine; nothing here measures time. */
const WITHIN_MS = 120_000;

test(
  "a host that is killed leaves a program behind: the next one ends it and continues the task",
  async () => {
    const options = acpOptions({ env: { MEMORY: temporaryFolder() }, limits: { graceMs: 50 } });
    const server = new MortalServer({
      script: new URL("./program-server.ts", import.meta.url),
      env: () => ({ PROCESS_AGENT: JSON.stringify(options) }),
    });
    onTestFinished(() => server.close());
    await server.start();
    const remote = async (): Promise<RemoteAgent> => connect(await server.url(), { cache: false });
    /** The process of the program and the one that it has started. */
    const pidsOf = async (run: Run): Promise<readonly number[]> => {
      for await (const text of run.text) return text.split(" ").map(Number);
      throw new Error("the program says nothing");
    };
    const first = (await remote()).stream("stubborn");
    const before = await pidsOf(first);
    const taskId = first.taskId!;

    await server.kill();
    expect(before.map(isRunning)).toEqual([true, true]);
    await server.start();

    await vi.waitFor(() => expect(before.some(isRunning)).toBe(false), WITHIN_MS / 3);
    const task = await vi.waitFor(async () => {
      const found = await (await remote()).get(taskId);
      expect(found.artifacts).toHaveLength(2);
      return found;
    }, WITHIN_MS / 3);
    const after = textOfParts(task.artifacts![1]!.parts).split(" ").map(Number);
    expect(after.map(isRunning)).toEqual([true, true]);
    expect((await (await remote()).cancel(taskId)).status.state).toBe("canceled");
    await vi.waitFor(() => expect(after.some(isRunning)).toBe(false), WITHIN_MS / 3);
  },
  WITHIN_MS,
);
