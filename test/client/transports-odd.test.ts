import { type BindingName, connect } from "@convoke/client";
import { ERRORS, type ErrorReason } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { json, pagesV03, pagesV1, result, startFakeAgent, stream } from "./fake-agent.ts";
import { verifies } from "../verifies.ts";

const TASK_V1 = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } };
const CARD = "/.well-known/agent-card.json";

/** An agent with only REST, at `/api`. */
function restPages(version: "0.3" | "1.0", more: object = {}) {
  if (version === "0.3") {
    return {
      [CARD]: (origin: string) =>
        json({ name: "Old", url: `${origin}/api/`, preferredTransport: "HTTP+JSON", ...more }),
    };
  }
  const at = { url: "/api", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", ...more };
  return pagesV1({ supportedInterfaces: [at] });
}

describe("REST", () => {
  verifies(
    ["v1-C13"],
    "the path, the query and the body of a 1.0 request match the params",
    async () => {
      const agent = await startFakeAgent({
        pages: {
          ...restPages("1.0", { tenant: "a b" }),
          "/api/a%20b/tasks/t%2F1?historyLength=2": () => json(TASK_V1),
          "/api/a%20b/tasks?pageSize=5&includeArtifacts=false&statusTimestampAfter=2026-01-31T12%3A00%3A00.000Z&status=TASK_STATE_WORKING":
            () => json({ tasks: [TASK_V1] }),
        },
        answer: () => json({ task: TASK_V1 }),
      });
      const extensions = ["https://one.test/v1", "https://two.test/v2"];
      const remote = await connect(agent.url, { extensions });

      expect(await remote.get("t/1", { historyLength: 2 })).toMatchObject({ id: "t1" });
      const page = await remote.list({
        pageSize: 5,
        statusTimestampAfter: "2026-01-31T12:00:00.000Z",
        state: "working",
      });
      expect(page.tasks).toHaveLength(1);
      await remote.send("hi", { messageId: "m1" });

      expect(agent.last.path).toBe("/api/a%20b/message:send");
      expect(agent.last.headers).toMatchObject({
        "content-type": "application/a2a+json",
        accept: "application/a2a+json, application/json",
        "a2a-version": "1.0",
        "a2a-extensions": "https://one.test/v1, https://two.test/v2",
      });
      expect(agent.last.call).toMatchObject({ message: { messageId: "m1", role: "ROLE_USER" } });
    },
  );

  test("a server that does not accept the media type of 1.0.1 gets the earlier one", async () => {
    const agent = await startFakeAgent({
      pages: restPages("1.0"),
      answer: (_, { headers }) =>
        headers["content-type"] === "application/json"
          ? json({ task: TASK_V1 })
          : { status: 415, body: "what is that?" },
    });
    const remote = await connect(agent.url);

    expect((await remote.send("hi")).task?.id).toBe("t1");
    expect((await remote.send("hi")).task?.id).toBe("t1");
    expect(agent.seen).toHaveLength(1 + 2 + 1);
  });

  test.each([404, 405])(
    "if subscribing with POST fails (%d) the client uses GET",
    async (status) => {
      const frame = `data: ${JSON.stringify({ statusUpdate: { taskId: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } } })}\n\n`;
      const agent = await startFakeAgent({
        pages: {
          ...restPages("1.0"),
          "/api/tasks/t1:subscribe": () => stream(frame),
        },
        answer: () => ({ status, body: "no such route" }),
      });
      const remote = await connect(agent.url);

      for await (const event of remote.subscribe("t1")) expect(event.kind).toBe("status-update");
      for await (const event of remote.subscribe("t1")) expect(event.kind).toBe("status-update");

      expect(agent.seen.slice(1).map(({ call }) => (call === undefined ? "GET" : "POST"))).toEqual([
        "POST",
        "GET",
        "GET",
      ]);
    },
  );

  test("a missing task does not make the client try another method", async () => {
    const missing = {
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "Task not found",
        details: [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND" },
        ],
      },
    };
    const agent = await startFakeAgent({
      pages: restPages("1.0"),
      answer: () => json(missing, 404),
    });
    const remote = await connect(agent.url);

    const reading = (async () => {
      for await (const _ of remote.subscribe("t1"));
    })();

    await expect(reading).rejects.toThrow(/Task not found/);
    expect(agent.seen.filter(({ path }) => path.endsWith(":subscribe"))).toHaveLength(1);
  });

  test("0.3 has its own dialect, and responses in either are read", async () => {
    const proto = {
      task: {
        id: "t1",
        contextId: "c1",
        status: { state: "TASK_STATE_CANCELLED", update: { messageId: "m2", role: "ROLE_AGENT" } },
        artifacts: [{ artifactId: "a1", parts: [{ file: { fileWithBytes: "AAE=" } }] }],
      },
    };
    const kind = {
      id: "t1",
      contextId: "c1",
      kind: "task",
      status: { state: "cancelled" },
      artifacts: [{ artifactId: "a1", parts: [{ kind: "file", file: { bytes: "AAE=" } }] }],
    };
    const { kind: _, ...bare } = kind;
    const answers: unknown[] = [proto, kind, bare];
    const agent = await startFakeAgent({
      pages: {
        ...restPages("0.3"),
        "/api/v1/tasks?pageSize=50&includeArtifacts=false": () => json([bare]),
      },
      answer: () => json(answers.shift(), 201),
    });
    const remote = await connect(agent.url, { extensions: ["https://one.test/v1"] });

    for (let count = 0; count < 3; count += 1) {
      const { task } = await remote.send([{ kind: "data", data: { a: 1 } }], { messageId: "m1" });
      expect(task?.status.state).toBe("canceled");
      expect(task?.artifacts?.[0]?.parts).toEqual([{ kind: "file", file: { bytes: "AAE=" } }]);
    }
    expect(agent.last.path).toBe("/api/v1/message:send");
    expect(agent.last.headers).toMatchObject({
      "content-type": "application/json",
      "a2a-extensions": "https://one.test/v1",
      "x-a2a-extensions": "https://one.test/v1",
    });
    expect(agent.last.call).toMatchObject({
      message: { messageId: "m1", role: "ROLE_USER", content: [{ data: { data: { a: 1 } } }] },
      configuration: { blocking: true },
    });
    expect((await remote.list()).tasks.map(({ id }) => id)).toEqual(["t1"]);
  });

  test("an error in the middle of a stream is the agent's error, in each form", async () => {
    const status = { error: { code: 500, status: "INTERNAL", message: "it broke" } };
    const bare = { code: -32603, message: "it broke" };
    const bodies = [
      `event: error\ndata: ${JSON.stringify(status)}\n\n`,
      `event: error\ndata: ${JSON.stringify(bare)}\n\n`,
      `data: ${JSON.stringify(status)}\n\n`,
    ];
    const agent = await startFakeAgent({
      pages: restPages("1.0"),
      answer: () => stream(bodies.shift() ?? ""),
    });
    const remote = await connect(agent.url);

    for (let count = 0; count < 3; count += 1) {
      const run = remote.stream("a");
      const reading = (async () => {
        for await (const _ of run);
      })();
      await expect(reading).rejects.toMatchObject({
        name: "RemoteError",
        message: "it broke",
        code: -32603,
        reason: "Internal",
      });
    }
  });
});

describe("errors", () => {
  const REASONS = (Object.keys(ERRORS) as ErrorReason[]).filter(
    (reason) => !("transport" in ERRORS[reason]),
  );

  for (const reason of REASONS) {
    verifies(["v03-C3"], `${reason} is recognized in each of its forms`, async () => {
      const { code, http, grpc, title } = ERRORS[reason];
      const upper = reason.replaceAll(/(?<!^)(?=[A-Z])/g, "_").toUpperCase();
      const details = [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: upper,
          domain: "a2a-protocol.org",
        },
      ];
      const expected = { name: "RemoteError", message: title, code, reason };
      for (const [pages, reply] of [
        [pagesV03(), json({ jsonrpc: "2.0", id: null, error: { code, message: title } })],
        [
          pagesV1(),
          json({ jsonrpc: "2.0", id: null, error: { code, message: title, data: details } }),
        ],
        [restPages("0.3"), json({ code, message: title }, http)],
        [
          restPages("1.0"),
          json({ error: { code: http, status: grpc, message: title, details } }, http),
        ],
      ] as const) {
        const agent = await startFakeAgent({ pages, answer: () => reply });
        const remote = await connect(agent.url, { retry: false });

        await expect(remote.cancel("t1")).rejects.toMatchObject(expected);
      }
    });
  }

  const REFUSALS: readonly (readonly [number, ErrorReason])[] = [
    [401, "Unauthenticated"],
    [403, "Forbidden"],
    [413, "PayloadTooLarge"],
    [429, "TooManyRequests"],
    [503, "Unavailable"],
  ];

  test.each(REFUSALS)("HTTP %d is %s, regardless of its sender", async (status, reason) => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: () => ({ status, headers: { "Retry-After": "7" } }),
    });
    const remote = await connect(agent.url, { retry: false });

    await expect(remote.get("t1")).rejects.toMatchObject({
      httpStatus: status,
      reason,
      code: undefined,
      retryAfterMs: 7000,
    });
  });

  test("only the title of an HTML page is quoted", async () => {
    const page = `<!DOCTYPE html><html><head><title>504 Gateway\n Time-out</title></head>${"<p>".repeat(999)}`;
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: () => ({ status: 504, body: page }),
    });
    const remote = await connect(agent.url, { retry: false });

    await expect(remote.get("t1")).rejects.toMatchObject({
      message: "HTTP 504 Gateway Timeout: 504 Gateway Time-out",
    });
  });
});

describe("the end", () => {
  verifies(
    ["v1-C16"],
    "of a stream is its close, also if the whole task is sent once more",
    async () => {
      const ids = { taskId: "t1", contextId: "c1" };
      const frames = [
        { task: { ...TASK_V1, status: { state: "TASK_STATE_WORKING" } } },
        { artifactUpdate: { ...ids, artifact: { artifactId: "a", parts: [{ text: "Hi" }] } } },
        { statusUpdate: { ...ids, status: { state: "TASK_STATE_COMPLETED" } } },
        { task: { ...TASK_V1, artifacts: [{ artifactId: "a", parts: [{ text: "Hi" }] }] } },
      ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
      const agent = await startFakeAgent({
        pages: restPages("1.0"),
        answer: () => stream(frames.join("")),
      });
      const remote = await connect(agent.url);

      const { text, task } = await remote.stream("a").result;

      expect(text).toBe("Hi");
      expect(task?.status.state).toBe("completed");
    },
  );

  verifies(["v1-C16"], "of a list is a page without a next page token", async () => {
    const pages = [{ tasks: [TASK_V1], nextPageToken: "" }, { tasks: [TASK_V1] }];
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => result(call, pages.shift()),
    });
    const remote = await connect(agent.url);

    expect((await remote.list()).nextPageToken).toBe("");
    expect((await remote.list()).nextPageToken).toBe("");
  });
});

describe("a response to another request", () => {
  test("is not accepted as ours", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: ({ id }) => json({ jsonrpc: "2.0", id: id + 41, result: TASK_V1 }),
    });
    const remote = await connect(agent.url);

    await expect(remote.get("t1")).rejects.toMatchObject({
      kind: "unreadable",
      message: expect.stringMatching(/has the id 42, and the request had 1$/),
    });
  });

  test("is accepted if it is ambiguous: as a string, or always 1 as early 0.3 servers write it", async () => {
    const task = { kind: "task", id: "t1", contextId: "c1", status: { state: "started" } };
    const ids: unknown[] = ["1", 1, undefined];
    const agent = await startFakeAgent({
      pages: pagesV03(),
      answer: () => json({ jsonrpc: "2.0", id: ids.shift(), result: task }),
    });
    const remote = await connect(agent.url);

    for (let count = 0; count < 3; count += 1) {
      expect((await remote.get("t1")).status.state).toBe("submitted");
    }
  });
});

describe("early forms", () => {
  const ids = { taskId: "t1", contextId: "c1" };

  verifies(["v1-C15"], "of events are read as current ones", async () => {
    const events = [
      { id: "t1", contextId: "c1", status: { state: "started" } },
      {
        ...ids,
        status: { state: "working", message: { role: "assistant", content: "one moment" } },
      },
      { ...ids, index: 0, part: { kind: "text", text: "Hel" }, timestamp: "now" },
      { ...ids, index: 0, part: { kind: "text", text: "lo" } },
      { ...ids, status: { state: "completed" }, final: true },
    ];
    const agent = await startFakeAgent({
      pages: pagesV03(),
      answer: ({ id }) =>
        stream(
          events
            .map((value) => JSON.stringify({ jsonrpc: "2.0", id, result: value }))
            .map((data, place) => `event: message\nid: ${place}\ndata: ${data}\n\n`)
            .join(""),
        ),
    });
    const remote = await connect(agent.url);

    const { task, text } = await remote.stream("a").result;

    expect(text).toBe("Hello");
    expect(task).toMatchObject({
      id: "t1",
      status: { state: "completed" },
      artifacts: [{ artifactId: "artifact-0" }],
    });
  });

  test("a push config that was only confirmed is returned as requested", async () => {
    const agent = await startFakeAgent({
      pages: pagesV03(),
      answer: (call) => result(call, { success: true }),
    });
    const remote = await connect(agent.url);

    expect(await remote.push.set("t1", { url: "https://hooks.test/" })).toEqual({
      taskId: "t1",
      id: "t1",
      url: "https://hooks.test/",
    });
  });

  verifies(["v1-C15"], "0.3 names in a 1.0 response are understood", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        result(call, {
          kind: "task",
          id: "t1",
          contextId: "c1",
          status: { state: "cancelled" },
          history: [
            {
              kind: "message",
              messageId: "m",
              role: "agent",
              parts: [{ kind: "text", text: "x" }],
            },
          ],
        }),
    });
    const remote = await connect(agent.url);

    expect((await remote.send("a")).task).toMatchObject({
      status: { state: "canceled" },
      history: [{ role: "agent" }],
    });
  });
});

const NAMES: readonly BindingName[] = ["jsonrpc", "rest", "grpc"];

test.each(NAMES)("a stopped agent is unreachable via %s, and nothing was sent", async (name) => {
  const agent = await startFakeAgent({
    pages: {
      [CARD]: (origin) =>
        json({
          name: "Gone",
          supportedInterfaces: ["JSONRPC", "HTTP+JSON", "GRPC"].map((protocolBinding) => ({
            url: origin,
            protocolBinding,
            protocolVersion: "1.0",
          })),
        }),
    },
  });
  // A kept connection may die with the first attempt, which is then ambiguous; the next attempt
  // is not.
  const remote = await connect(agent.url, { bindings: [name], retry: { baseMs: 1 } });
  await agent.close();

  await expect(remote.get("t1")).rejects.toMatchObject({ kind: "unreachable", sent: false });
});
