import type { NewPush } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";

/** Begins to deliver for a config that was stored with a message. Should the reading fail, the next start finds it. */
export function beginPush(engine: Engine, taskId: string, { id }: NewPush): void {
  void engine.keepTrying({ taskId }, async () => {
    const record = await engine.backend.pushes.get(taskId, id);
    if (record !== undefined) engine.pushRules?.changed(record);
  });
}
