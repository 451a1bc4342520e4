import {
  type AgentEvent,
  type InternalEvent,
  type PublicEvent,
  ServerStopping,
  userMessage,
} from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { type ATurn, aTurn } from "../../../runtime/src/testing/a-turn.suite.ts";
import { connect } from "../agent/connect.ts";
import {
  type Call,
  type Reply,
  type Seen,
  failure,
  pagesV1,
  result,
  startFakeAgent,
} from "../../../../test/client/fake-agent.ts";
import {
  aChunk,
  aStatus,
  aTask,
  anArtifact,
  collect,
  frames,
  outline,
} from "../run/a-stream.suite.ts";

/** What an earlier attempt recorded about the remote task t1. */
const note = (kind: InternalEvent["kind"], facts: object = {}): InternalEvent =>
  ({ kind, taskId: "local", ...facts }) as InternalEvent;
const REMOTE = note("internal:remote-task", { remoteTaskId: "t1", remoteContextId: "c1" });
const QUESTION = note("internal:remote-question");
const ANSWER = note("internal:message", { message: userMessage("m2", "Ann"), timestamp: "now" });

const DEDUPLICATING = {
  capabilities: {
    streaming: true,
    extensions: [
      { uri: "https://convoke.dev/extensions/idempotency/v1", params: { inMessage: true } },
    ],
  },
};

async function bridgeTo(
  answer: (call: Call, seen: Seen) => Reply,
  options: Parameters<typeof aTurn>[0] = {},
  card: object = {},
): Promise<{
  readonly caller: ATurn;
  readonly events: AsyncGenerator<AgentEvent>;
  readonly methods: () => readonly (string | undefined)[];
  readonly calls: () => readonly Call[];
}> {
  const agent = await startFakeAgent({ pages: pagesV1(card), answer });
  const remote = await connect(agent.url);
  const caller = aTurn(options);
  const calls = () => agent.seen.flatMap(({ call }) => call ?? []);
  return {
    caller,
    events: flat(remote.run(caller.turn)),
    calls,
    methods: () => calls().map(({ method }) => method),
  };
}

async function* flat(
  batches: AsyncIterable<AgentEvent | readonly AgentEvent[]>,
): AsyncGenerator<AgentEvent> {
  for await (const batch of batches) yield* Array.isArray(batch) ? batch : [batch as AgentEvent];
}

async function publicOf(events: AsyncIterable<AgentEvent>): Promise<readonly string[]> {
  const seen: PublicEvent[] = [];
  for await (const event of events) {
    if (!event.kind.startsWith("internal:")) seen.push(event as PublicEvent);
  }
  return outline(seen);
}

test("the remote task is recorded with its first event, before anything is passed on", async () => {
  const { events, calls } = await bridgeTo((call) =>
    frames(call, [aTask("SUBMITTED"), aStatus("WORKING"), aChunk("Hi"), aStatus("COMPLETED")], {
      after: 0,
    }),
  );

  const [remote, ...rest] = await collect(events);

  expect(remote).toMatchObject({
    kind: "internal:remote-task",
    remoteTaskId: "t1",
    remoteContextId: "c1",
    cursor: "1",
  });
  expect(outline(rest as PublicEvent[])).toEqual([
    "status working",
    "artifact Hi",
    "status completed",
  ]);
  expect(calls()[0]?.params["message"]).toMatchObject({
    messageId: "t1:m1",
    contextId: expect.stringMatching(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
    ),
  });
});

test("a restarted turn finds its task again, and continues from a snapshot", async () => {
  const artifacts = [anArtifact("Hel")];
  const { events, methods } = await bridgeTo(
    (call) => frames(call, [aTask("WORKING", { artifacts }), aChunk("lo"), aStatus("COMPLETED")]),
    { journal: [REMOTE] },
  );

  expect(await publicOf(events)).toEqual([
    "artifact Hel",
    "status working",
    "artifact lo",
    "status completed",
  ]);
  expect(methods()).toEqual(["SubscribeToTask"]);
});

test("a turn that was interrupted before its first event was stored forwards that event", async () => {
  const done = aTask("COMPLETED", { artifacts: [anArtifact("Hello")] });
  const answer = (call: Call, { headers }: Seen): Reply => {
    if (call.method === "GetTask") return result(call, (done as { task: object }).task);
    return frames(call, headers["last-event-id"] === undefined ? [done] : [], { after: 0 });
  };
  const first = await bridgeTo(answer);
  const { value: noted } = await first.events.next();
  await first.events.return(undefined);

  const { events } = await bridgeTo(answer, { journal: [noted as InternalEvent], attempt: 2 });

  expect(await publicOf(events)).toEqual(["artifact Hello", "status completed"]);
});

test("a question that was passed on is not asked again", async () => {
  const { caller, events } = await bridgeTo(
    (call) =>
      call.method === "SubscribeToTask"
        ? frames(call, [aTask("INPUT_REQUIRED")], { end: "never" })
        : frames(call, [aTask("WORKING"), aStatus("COMPLETED")]),
    { journal: [REMOTE, QUESTION] },
  );
  const told = publicOf(events);

  caller.say("Ann");

  expect(await told).toEqual(["status working", "status completed"]);
});

test("an answer that had not reached the remote agent is sent, once", async () => {
  const { events, methods } = await bridgeTo(
    (call) => {
      if (call.method === "SubscribeToTask") return frames(call, [aTask("INPUT_REQUIRED")]);
      if (call.method === "GetTask") {
        return result(call, (aTask("INPUT_REQUIRED") as { task: object }).task);
      }
      return frames(call, [aTask("WORKING"), aStatus("COMPLETED")]);
    },
    { journal: [REMOTE, QUESTION, ANSWER] },
  );

  expect(await publicOf(events)).toEqual(["status working", "status completed"]);
  expect(methods()).toEqual(["SubscribeToTask", "GetTask", "SendStreamingMessage"]);
});

test("an answer that had reached the remote agent is not sent again", async () => {
  const history = [{ messageId: "t1:m2", role: "ROLE_USER", parts: [{ text: "Ann" }] }];
  let looks = 0;
  const { events, methods } = await bridgeTo(
    (call) => {
      if (call.method === "GetTask") {
        return result(call, (aTask("WORKING", { history }) as { task: object }).task);
      }
      return ++looks === 1
        ? frames(call, [aTask("INPUT_REQUIRED")])
        : frames(call, [aTask("WORKING", { history }), aStatus("COMPLETED")]);
    },
    { journal: [REMOTE, QUESTION, ANSWER] },
  );

  expect(await publicOf(events)).toEqual(["status working", "status completed"]);
  expect(methods()).toEqual(["SubscribeToTask", "GetTask", "SubscribeToTask"]);
});

test("an agent that deduplicates messages is sent the answer again without checking its task", async () => {
  const { events, methods } = await bridgeTo(
    (call) =>
      call.method === "SubscribeToTask"
        ? frames(call, [aTask("INPUT_REQUIRED")])
        : frames(call, [aTask("WORKING"), aStatus("COMPLETED")]),
    { journal: [REMOTE, QUESTION, ANSWER] },
    DEDUPLICATING,
  );

  expect(await publicOf(events)).toEqual(["status working", "status completed"]);
  expect(methods()).toEqual(["SubscribeToTask", "SendStreamingMessage"]);
});

describe("a first message that was sent before and is rejected when it is sent again", () => {
  const refused = (call: Call) => failure(call, { code: -32602, message: "seen before" });

  test("has a task, which is found by the message", async () => {
    const history = [{ messageId: "t1:m1", role: "ROLE_USER", parts: [{ text: "hello" }] }];
    const { task } = aTask("WORKING", { history }) as { readonly task: object };
    const { events, methods } = await bridgeTo(
      (call) => {
        if (call.method === "SendStreamingMessage") return refused(call);
        if (call.method !== "ListTasks") {
          return frames(call, [aTask("WORKING"), aStatus("COMPLETED")]);
        }
        return result(call, { tasks: [task], nextPageToken: "", pageSize: 50, totalSize: 1 });
      },
      { attempt: 2 },
      DEDUPLICATING,
    );

    expect(await publicOf(events)).toEqual(["status working", "status completed"]);
    expect(methods()).toEqual(["SendStreamingMessage", "ListTasks", "SubscribeToTask"]);
  });

  test("is sent without a context to an agent that lists no tasks", async () => {
    const { events, methods } = await bridgeTo(
      (call) => {
        if (call.method === "ListTasks") return failure(call, { code: -32601, message: "no list" });
        const { contextId } = call.params["message"] as { readonly contextId?: string };
        if (contextId !== undefined) return refused(call);
        return frames(call, [aTask("WORKING"), aStatus("COMPLETED")]);
      },
      { attempt: 2 },
      DEDUPLICATING,
    );

    expect(await publicOf(events)).toEqual(["status working", "status completed"]);
    expect(methods()).toEqual(["SendStreamingMessage", "ListTasks", "SendStreamingMessage"]);
  });
});

test("the next question after a delivered answer is a new one", async () => {
  const delivered = note("internal:remote-answer", { messageId: "m2" });
  const { caller, events } = await bridgeTo(
    (call) =>
      call.method === "SubscribeToTask"
        ? frames(call, [aTask("INPUT_REQUIRED")])
        : frames(call, [aTask("WORKING"), aStatus("COMPLETED")]),
    { journal: [REMOTE, QUESTION, ANSWER, delivered] },
  );
  const told = publicOf(events);

  caller.say("York");

  expect(await told).toEqual(["status input-required", "status working", "status completed"]);
});

test.each([
  ["a task that is canceled here is canceled there", new Error("task t1 was canceled"), true],
  ["a server that stops leaves the remote task alone", new ServerStopping(), false],
])("%s", async (_, reason, isCanceled) => {
  const { caller, events, methods } = await bridgeTo((call) =>
    call.method === "CancelTask"
      ? result(call, (aTask("CANCELED") as { task: object }).task)
      : frames(call, [aTask("SUBMITTED"), aChunk("Hi")], { end: "never" }),
  );

  const reading = (async () => {
    for await (const event of events) {
      if (event.kind === "artifact-update") caller.cancel(reason);
    }
  })();

  await expect(reading).rejects.toBe(reason);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await expect.poll(() => methods().includes("CancelTask"), { timeout: 20_000 }).toBe(isCanceled);
});
