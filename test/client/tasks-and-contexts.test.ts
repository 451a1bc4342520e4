import { connect } from "@convoke/client";
import { describe, expect } from "vitest";
import { type Call, type Seen, pagesV03, pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import { frames } from "../../packages/client/src/run/a-stream.suite.ts";
import { verifies } from "../verifies.ts";

/** Ids that look meaningful, although the client must treat them as opaque. */
const ODD = { id: "../t 1?x=%2F#ü", contextId: "00042" };

interface Said {
  readonly taskId?: string;
  readonly contextId?: string;
  readonly referenceTaskIds?: readonly string[];
}

const VERSIONS = [
  {
    version: "1.0",
    pages: pagesV1(),
    states: (name: string) => `TASK_STATE_${name.toUpperCase()}`,
  },
  { version: "0.3", pages: pagesV03(), states: (name: string) => name },
] as const;

describe.each(VERSIONS)("a client in $version", ({ version, pages, states }) => {
  /** An agent whose tasks end in the given states, one after the other. */
  async function startAgent(...ends: readonly string[]) {
    const left = [...ends];
    const task = () => ({
      ...(version === "0.3" && { kind: "task" }),
      ...ODD,
      status: {
        state: states((left.shift() ?? "completed").replaceAll("-", version === "0.3" ? "-" : "_")),
      },
    });
    const wrapped = () => (version === "0.3" ? task() : { task: task() });
    return startFakeAgent({
      pages,
      answer: (call) => {
        if (/stream/i.test(call.method)) return frames(call, [wrapped()]);
        return result(call, /send/i.test(call.method) ? wrapped() : task());
      },
    });
  }

  const saidIn = (seen: readonly Seen[]): readonly Said[] =>
    seen.flatMap(({ call }) => (call === undefined ? [] : placeOf(call)));

  verifies(
    ["v1-C3"],
    "sends a taskId to answer a task, and otherwise refers to the previous one",
    async () => {
      const agent = await startAgent("input-required", "completed", "completed");
      const conversation = (await connect(agent.url)).conversation();

      for (const words of ["begin", "the answer", "something new"]) {
        await conversation.say(words).result;
      }

      const { id, contextId } = ODD;
      expect(saidIn(agent.seen)).toEqual([
        {},
        { contextId, taskId: id },
        { contextId, referenceTaskIds: [id] },
      ]);
    },
  );

  verifies(["v1-C4"], "generates no context ids or task ids", async () => {
    const agent = await startAgent();
    const remote = await connect(agent.url);

    await remote.send("a");
    await remote.stream("b").result;
    await remote.send([{ kind: "text", text: "c" }]);

    expect(saidIn(agent.seen)).toEqual([{}, {}, {}]);
  });

  verifies(["v1-C4"], "returns ids unchanged, whatever they look like", async () => {
    const agent = await startAgent();
    const remote = await connect(agent.url);

    const { task } = await remote.send("a");
    expect(task).toMatchObject(ODD);
    await remote.get(ODD.id);
    await remote.cancel(ODD.id);
    await remote.send("b", { contextId: ODD.contextId, taskId: ODD.id });

    const calls = agent.seen.flatMap(({ call }) => call ?? []);
    expect(calls.map(({ params }) => params["id"])).toEqual([undefined, ODD.id, ODD.id, undefined]);
    expect(placeOf(calls.at(-1)!)).toEqual({ contextId: ODD.contextId, taskId: ODD.id });
  });
});

function placeOf({ params }: Call): Said {
  const { taskId, contextId, referenceTaskIds } = (params["message"] ?? {}) as Said;
  return {
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    ...(referenceTaskIds !== undefined && { referenceTaskIds }),
  };
}
