import { type Metadata, type TaskState, agentMessage, isTerminal } from "@convoke/protocol";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { newId } from "../task/new-id.ts";

/** Ends a task from outside its run: the run may write no more, and is told to stop. */
export async function endTask(
  engine: Engine,
  live: LiveTask,
  state: TaskState,
  why?: { readonly text: string; readonly metadata: Metadata },
): Promise<void> {
  const { writer, run } = live;
  if (!isTerminal(writer.nextState)) {
    const epoch = writer.fence();
    // A snapshot has no place for a status's own metadata, and a retry gets the snapshot.
    const message = why && {
      ...agentMessage(newId(engine.now()), why.text),
      metadata: why.metadata,
    };
    const ended = engine.status(live, state, {
      ...(message && { message }),
      ...(why && { metadata: why.metadata }),
    });
    const committed = writer.append([ended], { epoch, insist: true, listed: true });
    run?.abort(new Error(`the task is ${state}`));
    await committed;
  }
  await live.until(({ task }) => isTerminal(task.status.state));
  live.run = undefined;
}
