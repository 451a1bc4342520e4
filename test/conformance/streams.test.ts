import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { isLast, next, outline, readAll, taskIdIn } from "./reading.ts";
import { aRequest } from "./requests.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent(), { idempotency: "always" });

const STORY = [
  "task submitted",
  "status working",
  "artifact 1 ",
  "artifact 2 ",
  "artifact 3",
  "status completed",
];

describe.each(speakersTo(server))("a stream over $binding $version", (speaker) => {
  verifies(
    ["v1-S14", "v1-S15", "v03-S10"],
    "tells the task, its updates in order, and ends with it",
    async () => {
      const told = await readAll(speaker.stream(aRequest("count 3")));

      expect(outline(told)).toEqual(STORY);
      expect(told.filter(({ event }) => isLast(event))).toEqual([told.at(-1)]);
      const cursors = told.map(({ id }) => Number(id));
      expect(cursors).toEqual(cursors.toSorted((one, other) => one - other));
    },
  );

  verifies("v1-S14", "tells what there is while the agent still works", async () => {
    const gate = randomUUID();
    const stream = speaker.stream(aRequest(`wait ${gate}`));

    const early = [await next(stream), await next(stream), await next(stream)];
    gateOf(gate).open();
    const late = await readAll(stream);

    expect(outline(early)).toEqual(["task submitted", "status working", "artifact waiting "]);
    expect(outline(late)).toEqual(["artifact and ", "artifact done", "status completed"]);
  });

  verifies(["v1-S15", "R42"], "goes on exactly where it was cut, wherever that was", async () => {
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

  verifies(["v1-S15", "R42"], "goes on where it was cut while the agent works", async () => {
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

  verifies("R42", "begins anew, and says so, after a cursor that is none of its own", async () => {
    const task = await speaker.sendTask(aRequest("hello"));

    for (const lastEventId of ["999999", "nonsense"]) {
      const told = await readAll(speaker.subscribe({ taskId: task.id }, { lastEventId }));

      expect(told.map(({ event }) => event)).toEqual([
        { ...task, metadata: { ...task.metadata, resumption: "reset" } },
      ]);
    }
  });

  verifies("v1-S16", "tells all readers the same, and leaving disturbs nobody", async () => {
    const gate = randomUUID();
    const stream = speaker.stream(aRequest(`wait ${gate}`));
    const taskId = taskIdIn([await next(stream)]);
    const [leaving, staying] = [speaker.subscribe({ taskId }), speaker.subscribe({ taskId })];
    const seen = [taskIdIn([await next(leaving)]), taskIdIn([await next(staying)])];

    await leaving.return();
    gateOf(gate).open();
    const [first, second] = await Promise.all([readAll(stream), readAll(staying)]);

    expect(seen).toEqual([taskId, taskId]);
    expect(second.length).toBeGreaterThan(0);
    // The subscriber came later, so it may have got the first of them with the task.
    expect(second).toEqual(first.slice(-second.length));
    expect(outline(second).at(-1)).toBe("status completed");
  });
});
