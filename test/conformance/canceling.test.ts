import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { next, outline, readAll, taskIdIn } from "./reading.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

describe.each(speakersTo(server))("canceling over $binding $version", (speaker) => {
  verifies(
    ["v1-S25", "v03-S4"],
    "answers with the canceled task and ends its streams",
    async () => {
      const stream = speaker.stream(aRequest(`wait ${randomUUID()}`));
      const taskId = taskIdIn([await next(stream)]);

      const task = await speaker.cancel({ taskId });
      const rest = await readAll(stream);

      expect(task).toMatchObject({ id: taskId, status: { state: "canceled" } });
      expect(outline(rest).at(-1)).toBe("status canceled");
      expect((await speaker.get({ taskId })).status.state).toBe("canceled");
    },
  );

  verifies("v1-S25", "works on a task that waits for its caller", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));

    expect((await speaker.cancel({ taskId })).status.state).toBe("canceled");
  });

  verifies(["v1-S25", "v03-S15"], "is refused when the task has ended", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("hello"));

    const refusal = await refusalOf(speaker.cancel({ taskId }));

    expect(refusal.reason).toBe("TaskNotCancelable");
    expect((await speaker.get({ taskId })).status.state).toBe("completed");
  });
});

describe.each(speakersOf(server, "1.0"))("over $binding $version", (speaker) => {
  verifies("v1-S25", "canceling twice is canceling once", async () => {
    const canceled = await aCanceledTask(speaker);

    expect(await speaker.cancel({ taskId: canceled.id })).toEqual(canceled);
  });
});

describe.each(speakersOf(server, "0.3"))("over $binding $version", (speaker) => {
  verifies("v03-S15", "canceling twice is refused", async () => {
    const { id: taskId } = await aCanceledTask(speaker);

    expect((await refusalOf(speaker.cancel({ taskId }))).reason).toBe("TaskNotCancelable");
  });
});

async function aCanceledTask(speaker: Speaker) {
  const { id: taskId } = await speaker.sendTask(aRequest("ask"));
  return speaker.cancel({ taskId });
}
