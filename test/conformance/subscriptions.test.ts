import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent, gateOf } from "./conformance-agent.ts";
import { next, outline, readAll, taskIdIn } from "./reading.ts";
import { aMessage, aRequest } from "./requests.ts";
import { speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

describe.each(speakersTo(server))("a subscription over $binding $version", (speaker) => {
  verifies("v1-S17", "begins with the task as it is and ends with it", async () => {
    const gate = randomUUID();
    const first = speaker.stream(aRequest(`wait ${gate}`));
    const begun = [await next(first), await next(first), await next(first)];
    const taskId = taskIdIn(begun);

    const stream = speaker.subscribe({ taskId });
    const opening = await next(stream);
    gateOf(gate).open();
    const rest = await readAll(stream);

    expect(opening.event).toMatchObject({ kind: "task", status: { state: "working" } });
    expect(opening.event).toMatchObject({ artifacts: [{ parts: [{ text: "waiting " }] }] });
    expect(outline(rest)).toEqual(["artifact and ", "artifact done", "status completed"]);
    await first.return();
  });

  verifies("v1-S17", "outlives a question to the caller", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("ask"));

    const stream = speaker.subscribe({ taskId });
    const opening = await next(stream);
    await speaker.send(aRequest(aMessage("yes", { taskId })));
    const rest = await readAll(stream);

    expect(outline([opening])).toEqual(["task input-required"]);
    expect(outline(rest)).toEqual(["status working", "artifact you said yes", "status completed"]);
  });
});

describe.each(speakersOf(server, "0.3"))("over $binding $version", (speaker) => {
  verifies("R42", "a subscription to an ended task tells it and closes", async () => {
    const task = await speaker.sendTask(aRequest("hello"));

    const told = await readAll(speaker.subscribe({ taskId: task.id }));

    expect(told.map(({ event }) => event)).toEqual([task]);
  });
});
