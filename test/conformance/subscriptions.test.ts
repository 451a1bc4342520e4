import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { next, outline, readAll } from "./reading.ts";
import { aMessage, aRequest } from "./requests.ts";
import { speakersOf, speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

describe.each(speakersTo(server))("a subscription over $binding $version", (speaker) => {
  verifies("v1-S17", "stays open after a question to the caller", async () => {
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
  verifies("R42", "a subscription to an ended task returns it and closes", async () => {
    const task = await speaker.sendTask(aRequest("hello"));

    const told = await readAll(speaker.subscribe({ taskId: task.id }));

    expect(told.map(({ event }) => event)).toEqual([task]);
  });
});
