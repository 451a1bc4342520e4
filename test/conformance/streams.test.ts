import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { next, outline, readAll, taskIdIn } from "./reading.ts";
import { aRequest } from "./requests.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent(), { idempotency: "always" });

describe.each(speakersTo(server))("a stream over $binding $version", (speaker) => {
  verifies(["v1-S15", "R42"], "resumes exactly where it was cut, at any position", async () => {
    const request = aRequest("count 3");
    const told = await readAll(speaker.stream(request));
    const taskId = taskIdIn(told);

    for (const [place, { id: lastEventId }] of told.entries()) {
      const resent = await readAll(speaker.stream(request, { lastEventId }));
      const resubscribed = await readAll(speaker.subscribe({ taskId }, { lastEventId }));

      expect(resent).toEqual(told.slice(place + 1));
      expect(resubscribed).toEqual(told.slice(place + 1));
    }
  });

  verifies(["v1-S15", "R42"], "resumes where it was cut while the agent works", async () => {
    const gate = randomUUID();
    const cut = speaker.stream(aRequest(`wait ${gate}`));
    const begun = [await next(cut), await next(cut), await next(cut)];
    await cut.return();

    const resumed = speaker.subscribe({ taskId: taskIdIn(begun) }, { lastEventId: begun[1]!.id });
    const again = await next(resumed);
    gateOf(gate).open();
    const rest = await readAll(resumed);

    expect(again).toEqual(begun[2]);
    expect(outline(rest)).toEqual(["artifact and ", "artifact done", "status completed"]);
  });

  verifies("R42", "starts over with a reset after a cursor that is not its own", async () => {
    const task = await speaker.sendTask(aRequest("hello"));

    for (const lastEventId of ["999999", "nonsense"]) {
      const told = await readAll(speaker.subscribe({ taskId: task.id }, { lastEventId }));

      expect(told.map(({ event }) => event)).toEqual([
        { ...task, metadata: { ...task.metadata, resumption: "reset" } },
      ]);
    }
  });
});
