import { constants } from "node:http2";
import { connect } from "@convoke/client";
import { type ErrorReason, PROTO_CODECS, type ProtocolVersion } from "@convoke/protocol";
import { GRPC_SERVICES, encodeStatusDetails } from "@convoke/protocol/grpc";
import { describe, expect, test } from "vitest";
import { STUCK, answer, framed, refuse, startGrpcAgent, startStuckAgent } from "./a-grpc-agent.ts";

const TASK = {
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state: "completed" },
} as const;

function bytesOf(operation: string, json: unknown, version: ProtocolVersion = "1.0"): Uint8Array {
  const method = GRPC_SERVICES[version].methods.find((row) => row.operation === operation);
  if (method === undefined) throw new Error(`there is no ${operation}`);
  return method.encodeResponse(json);
}

const TASK_BYTES = bytesOf("getTask", PROTO_CODECS["1.0"].encodeTask(TASK));
const EVENT_BYTES = bytesOf("subscribeToTask", { task: PROTO_CODECS["1.0"].encodeTask(TASK) });

const NO_RETRY = { retry: false } as const;

describe("a call via gRPC", () => {
  test("uses one connection and the path of its service, with its metadata", async () => {
    const seen: unknown[] = [];
    const agent = await startGrpcAgent((stream, headers) => {
      seen.push([headers["content-type"], headers["te"], headers["a2a-version"]]);
      answer(stream, [TASK_BYTES]);
    });
    const remote = await connect(agent.card);

    await Promise.all([remote.get("t1"), remote.get("t1"), remote.get("t1")]);
    expect(await remote.get("t1")).toMatchObject(TASK);

    expect(agent.called).toEqual(Array(4).fill("/lf.a2a.v1.A2AService/GetTask"));
    expect(agent.connections).toBe(1);
    expect(seen[0]).toEqual(["application/grpc", "trailers", "1.0"]);
    remote.close();
  });

  test("can arrive in chunks of any size", async () => {
    const agent = await startGrpcAgent((stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      const bytes = [...framed(TASK_BYTES)];
      const next = () => {
        const byte = bytes.shift();
        if (byte === undefined) stream.end();
        else stream.write(Buffer.of(byte), () => setImmediate(next));
      };
      next();
    });

    expect(await (await connect(agent.card)).get("t1")).toMatchObject(TASK);
  });

  const STATUSES: readonly (readonly [number, string, ErrorReason, number])[] = [
    [5, "Task not found: t1", "TaskNotFound", -32001],
    [9, "Task cannot be canceled", "TaskNotCancelable", -32002],
    [12, "Push Notification is not supported", "PushNotificationNotSupported", -32003],
    [9, "anything", "UnsupportedOperation", -32004],
    [3, "Incompatible content types", "ContentTypeNotSupported", -32005],
    [9, "Authenticated Extended Card is not configured", "ExtendedAgentCardNotConfigured", -32007],
    [12, "unknown method", "MethodNotFound", -32601],
    [3, "message.parts must not be empty", "InvalidParams", -32602],
    [13, "boom", "Internal", -32603],
    [16, "who are you", "Unauthenticated", -32603],
    [7, "not you", "Forbidden", -32603],
    [8, "slowly", "TooManyRequests", -32603],
    [14, "away", "Unavailable", -32603],
  ];

  test.each(STATUSES)("that ends with %d and %j is %s", async (status, message, reason, code) => {
    const agent = await startGrpcAgent((stream) =>
      refuse(stream, {
        "grpc-status": String(status),
        "grpc-message": encodeURIComponent(message),
        "grpc-retry-pushback-ms": "250",
      }),
    );
    const remote = await connect(agent.card, NO_RETRY);

    await expect(remote.cancel("t1")).rejects.toMatchObject({
      name: "RemoteError",
      message,
      reason,
      code,
      retryAfterMs: 250,
    });
  });

  test("has the kind that its details say, regardless of its status", async () => {
    const details = encodeStatusDetails({
      code: 9,
      message: "no",
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "VERSION_NOT_SUPPORTED",
          domain: "a2a-protocol.org",
          metadata: { supported: "0.3" },
        },
      ],
    });
    const agent = await startGrpcAgent((stream) =>
      answer(stream, [], {
        "grpc-status": "9",
        "grpc-message": "no",
        "grpc-status-details-bin": Buffer.from(details).toString("base64").replace(/=+$/, ""),
      }),
    );
    const remote = await connect(agent.card, NO_RETRY);

    await expect(remote.get("t1")).rejects.toMatchObject({
      code: -32009,
      reason: "VersionNotSupported",
      data: [{ metadata: { supported: "0.3" } }],
    });
  });

  test("that a proxy answers in its own format has its status", async () => {
    const agent = await startGrpcAgent((stream) => {
      stream.respond({ ":status": 502, "content-type": "text/html" });
      stream.end("<html>");
    });
    const remote = await connect(agent.card, NO_RETRY);

    await expect(remote.get("t1")).rejects.toMatchObject({ httpStatus: 502, code: undefined });
  });

  test.each([
    ["the connection breaks", (stream) => stream.session?.destroy()],
    ["the stream is reset", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    [
      "it ends in the middle of a message",
      (stream) => {
        stream.respond({ ":status": 200 }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(framed(TASK_BYTES).subarray(0, 7));
      },
    ],
    [
      "it ends without a status",
      (stream) => {
        stream.respond({ ":status": 200 });
        stream.end(framed(TASK_BYTES));
      },
    ],
  ] satisfies [string, Parameters<typeof startGrpcAgent>[0]][])(
    "is lost when %s",
    async (_, script) => {
      const agent = await startGrpcAgent(script);
      const remote = await connect(agent.card, NO_RETRY);

      const error: unknown = await remote.cancel("t1").catch((thrown: unknown) => thrown);

      expect(error).toMatchObject({ kind: "unreachable", sent: undefined });
      expect(String(error)).toMatch(/the connection to http:.* was lost/);
    },
  );

  test("that the agent refused to process counts as not sent", async () => {
    let count = 0;
    const agent = await startGrpcAgent((stream) => {
      count += 1;
      if (count === 1) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else answer(stream, [TASK_BYTES]);
    });
    const remote = await connect(agent.card, { retry: { baseMs: 1 } });

    // A write is repeated only if it did not arrive.
    expect(await remote.cancel("t1")).toMatchObject({ id: "t1" });
  });

  test.each([
    ["is compressed", [framed(TASK_BYTES, 1)], "is compressed"],
    ["is not protobuf", [framed(Buffer.from([0xff, 0xff]))], "not valid protobuf"],
    ["is missing", [], "has 0 messages"],
    ["is sent twice", [framed(TASK_BYTES), framed(TASK_BYTES)], "has 2 messages"],
    ["is larger than the limit", [Buffer.from([0, 0xff, 0xff, 0xff, 0xff])], "is larger than"],
  ] as const)("whose response %s is unreadable", async (_, pieces, words) => {
    const agent = await startGrpcAgent((stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.concat(pieces));
    });
    const remote = await connect(agent.card, NO_RETRY);

    await expect(remote.get("t1")).rejects.toMatchObject({
      kind: "unreadable",
      message: expect.stringContaining(words),
    });
  });
});

describe("a stream via gRPC", () => {
  test("ends the call when its reader stops", async () => {
    const closed = Promise.withResolvers<number>();
    const agent = await startGrpcAgent((stream) => {
      stream.respond({ ":status": 200 });
      stream.write(framed(EVENT_BYTES));
      stream.on("close", () => closed.resolve(stream.rstCode));
    });
    const remote = await connect(agent.card);

    for await (const event of remote.subscribe("t1")) {
      expect(event).toMatchObject({ kind: "task", id: "t1" });
      break;
    }

    expect(await closed.promise).toBe(constants.NGHTTP2_CANCEL);
  });

  test("ends with the signal's reason when it is aborted", async () => {
    const agent = await startGrpcAgent((stream) => {
      stream.respond({ ":status": 200 });
      stream.write(framed(EVENT_BYTES.slice(0, 0)));
    });
    const remote = await connect(agent.card);
    const signal = AbortSignal.timeout(100);

    await expect(remote.get("t1", { signal })).rejects.toThrow(/aborted due to timeout/);
  });
});

describe.each(Object.entries(STUCK))("a call to a gRPC server that %s", (_, frames) => {
  test("ends with the reason of its signal", async () => {
    const url = await startStuckAgent(frames);
    const card = {
      name: "Stuck",
      supportedInterfaces: [{ url, protocolBinding: "GRPC", protocolVersion: "1.0" }],
    };
    const remote = await connect(card, NO_RETRY);
    const stopped = new Error("stopped by the test");

    for (const call of [
      (signal: AbortSignal) => remote.get("t1", { signal }),
      (signal: AbortSignal) => remote.send("hello", { signal }),
      (signal: AbortSignal) => remote.stream("hello", { signal }).result,
    ]) {
      const stop = new AbortController();
      const ending = call(stop.signal);
      setTimeout(() => stop.abort(stopped), 100);
      await expect(ending).rejects.toBe(stopped);
    }
  });
});
