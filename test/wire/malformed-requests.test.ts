import { afterEach, describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS, type Dialect, type Verb, aMessage } from "./dialect.ts";
import { expectHealthy } from "./healthy.ts";
import { bodyOf, faultOf, post, rpcText } from "./rpc.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

const server = useServer();

afterEach(() => expectHealthy(server));

/** The codes of JSON-RPC and of A2A. */
const OFFICIAL_CODES = [
  -32700, -32600, -32601, -32602, -32603, -32001, -32002, -32003, -32004, -32005, -32006, -32007,
  -32008, -32009,
];

describe("an envelope", () => {
  for (const { version, methods, text, user } of DIALECTS) {
    const params = { message: { messageId: "m", role: user, parts: [text("hello")] } };
    const whole = { jsonrpc: "2.0", id: 7, method: methods.send, params };
    const { jsonrpc: _, ...withoutVersion } = whole;
    const { id: __, ...withoutId } = whole;
    const { method: ___, ...withoutMethod } = whole;

    for (const [what, body, id, field] of [
      ["that is text", "hello", null, undefined],
      ["that is a number", 5, null, undefined],
      ["that is null", null, null, undefined],
      ["that is true", true, null, undefined],
      ["that is an empty batch", [], null, undefined],
      ["that is a batch of one", [whole], null, undefined],
      ["that is a batch of several", [whole, whole], null, undefined],
      ["without anything", {}, null, "jsonrpc"],
      ["without jsonrpc", withoutVersion, 7, "jsonrpc"],
      ["of JSON-RPC 1.0", { ...whole, jsonrpc: "1.0" }, 7, "jsonrpc"],
      ["with a number for jsonrpc", { ...whole, jsonrpc: 2 }, 7, "jsonrpc"],
      ["without an id", withoutId, null, "id"],
      ["with true for an id", { ...whole, id: true }, null, "id"],
      ["with an object for an id", { ...whole, id: {} }, null, "id"],
      ["with a list for an id", { ...whole, id: [1] }, null, "id"],
      ["with an object for an id and no message", { ...whole, id: {}, params: {} }, null, "id"],
      ["without a method", withoutMethod, 7, "method"],
      ["with null for a method", { ...whole, method: null }, 7, "method"],
      ["with a list for a method", { ...whole, method: [whole.method] }, 7, "method"],
    ] as const) {
      verifies(["R2", "R29"], `${what} is an invalid request (${version})`, async () => {
        const answer = await post(server.url, JSON.stringify(body), { "a2a-version": version });

        const fault = faultOf(answer);
        expect(answer.status).toBe(200);
        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(bodyOf(answer)).toMatchObject({ jsonrpc: "2.0", id });
        expect(fault.code).toBe(-32600);
        expect(fault.message).toMatch(/^Invalid Request: ./);
        expect(fault.field).toBe(field);
      });
    }
  }

  for (const { version, methods } of DIALECTS) {
    for (const [what, method, params, code] of [
      ["an unknown method", "nothing", {}, -32601],
      ["bad parameters", methods.send, { message: {} }, -32602],
      ["bad parameters of a stream", methods.stream, {}, -32602],
    ] as const) {
      verifies(
        ["R2", "R29"],
        `without an id and with ${what} gets an error that names it (${version})`,
        async () => {
          const answer = await post(
            server.url,
            JSON.stringify({ jsonrpc: "2.0", method, params }),
            {
              "a2a-version": version,
            },
          );

          expect(bodyOf(answer)).toMatchObject({ id: null, error: { code } });
        },
      );
    }
  }

  verifies("R2", "gets the reason in the error data", async () => {
    const answer = await post(server.url, "[]");

    expect(bodyOf(answer).error).toEqual({
      code: -32600,
      message: "Invalid Request: batches are not supported, send one request",
      data: { reason: "batches are not supported, send one request" },
    });
  });

  for (const id of [0, "", null, "abc", -1, 1.5, "ä\n"]) {
    verifies(
      "R7",
      `gets its id ${JSON.stringify(id)} back, with a result and an error`,
      async () => {
        const [dialect] = DIALECTS as [Dialect];
        const params = { message: aMessage(dialect, "hello") };

        const good = await post(
          server.url,
          JSON.stringify({ jsonrpc: "2.0", id, method: "message/send", params }),
        );
        const bad = await post(
          server.url,
          JSON.stringify({ jsonrpc: "2.0", id, method: "nothing" }),
        );
        const worse = await post(server.url, JSON.stringify({ jsonrpc: "1.0", id }));

        expect(bodyOf(good)).toMatchObject({ id, result: { kind: "task" } });
        expect(bodyOf(bad)).toMatchObject({ id, error: { code: -32601 } });
        expect(bodyOf(worse)).toMatchObject({ id, error: { code: -32600 } });
      },
    );
  }
});

describe("an unknown method", () => {
  for (const { version } of DIALECTS) {
    for (const method of ["", "tasks/list", "message/sendd", "sendMessage", "constructor"]) {
      verifies(
        "R4",
        `${JSON.stringify(method)} is repeated in the error (${version})`,
        async () => {
          const answer = await post(server.url, rpcText(method, {}), { "a2a-version": version });

          const { code, details } = faultOf(answer);
          expect(answer.status).toBe(200);
          expect(code).toBe(-32601);
          expect(details["method"]).toBe(method);
        },
      );
    }
  }

  verifies("R4", "is repeated in data.method if no version is requested", async () => {
    const answer = await post(server.url, rpcText("no/such", {}));

    expect(bodyOf(answer).error).toMatchObject({ code: -32601, data: { method: "no/such" } });
  });
});

/** An invalid parameter, and the field that the error has to name. */
type Malformed = readonly [what: string, params: unknown, field: string];

function malformedSends(dialect: Dialect): readonly Malformed[] {
  const { text } = dialect;
  const message = (fields: object) => ({ message: aMessage(dialect, "hello", fields) });
  const configuration = (fields: object) => ({ ...message({}), configuration: fields });
  return [
    ["no params", undefined, "params"],
    ["a list for params", [], "params"],
    ["no message", {}, "message"],
    ["text for a message", { message: "hello" }, "message"],
    ["no messageId", message({ messageId: undefined }), "message.messageId"],
    ["an empty messageId", message({ messageId: "" }), "message.messageId"],
    ["a number for a messageId", message({ messageId: 5 }), "message.messageId"],
    ["no role", message({ role: undefined }), "message.role"],
    ["an unknown role", message({ role: "assistant" }), "message.role"],
    ["no parts", message({ parts: undefined }), "message.parts"],
    ["empty parts", message({ parts: [] }), "message.parts"],
    ["an object for parts", message({ parts: {} }), "message.parts"],
    ["text for a part", message({ parts: ["hello"] }), "message.parts[0]"],
    ["null for the second part", message({ parts: [text("a"), null] }), "message.parts[1]"],
    ["a number for a contextId", message({ contextId: 5 }), "message.contextId"],
    ["a list for a contextId", message({ contextId: ["c"] }), "message.contextId"],
    ["null for a contextId", message({ contextId: null }), "message.contextId"],
    ["a number for a taskId", message({ taskId: 5 }), "message.taskId"],
    ["text for metadata", message({ metadata: "x" }), "message.metadata"],
    ["text for a configuration", { ...message({}), configuration: "x" }, "configuration"],
    [
      "a negative historyLength",
      configuration({ historyLength: -1 }),
      "configuration.historyLength",
    ],
    ["half a historyLength", configuration({ historyLength: 0.5 }), "configuration.historyLength"],
    [
      "text for a historyLength",
      configuration({ historyLength: "1" }),
      "configuration.historyLength",
    ],
    ...(dialect.version === "0.3" ? malformedOnlyIn03(message, configuration) : []),
    ...(dialect.version === "1.0" ? malformedOnlyIn1(message, configuration) : []),
  ];
}

/** Text that is invalid in an id, and a part of the error. */
const BAD_IDS: readonly (readonly [what: string, id: string, problem: string])[] = [
  ["NUL", "a\u0000b", "control characters"],
  ["a line break", "a\nb", "control characters"],
  ["a lone surrogate", "a\ud800", "unpaired surrogates"],
  ["257 characters", "x".repeat(257), "must not have more than 256 characters"],
];

describe("an id", () => {
  for (const dialect of DIALECTS) {
    const client = new WireClient(server, dialect);

    for (const [what, id, problem] of BAD_IDS) {
      verifies(
        ["R10", "R12", "seed-C2"],
        `with ${what} is -32602 (${dialect.version})`,
        async () => {
          for (const [field, params] of [
            ["message.messageId", { messageId: id }],
            ["message.contextId", { contextId: id }],
            ["message.taskId", { taskId: id }],
            ["message.referenceTaskIds[0]", { referenceTaskIds: [id] }],
          ] as const) {
            const fault = faultOf(await client.send("hello", { message: params }));
            expect(fault).toMatchObject({ code: -32602, field });
            expect(fault.message).toContain(problem);
          }
          expect(faultOf(await client.call("get", { id }))).toMatchObject({
            code: -32602,
            field: "id",
          });
        },
      );
    }

    verifies("R12", `of 256 non-ASCII characters is accepted (${dialect.version})`, async () => {
      const contextId = "😀".repeat(256);

      expect(await client.sendTask("hello", { message: { contextId } })).toMatchObject({
        contextId,
      });
    });
  }
});

describe("a number that does not fit into a 64-bit float", () => {
  for (const dialect of DIALECTS) {
    verifies("R29", `is -32602 with its field (${dialect.version})`, async () => {
      const params = { message: aMessage(dialect, "hello", { metadata: { deep: ["HUGE"] } }) };
      const text = rpcText(dialect.methods.send, params).replace('"HUGE"', "-1e400");

      const answer = await post(server.url, text, { "a2a-version": dialect.version });

      expect(bodyOf(answer).id).toBe(1);
      expect(faultOf(answer)).toMatchObject({ code: -32602, field: "message.metadata.deep[0]" });
    });
  }
});

type Sending = (fields: object) => object;

function malformedOnlyIn03(message: Sending, configuration: Sending): readonly Malformed[] {
  return [
    ["a message of another kind", message({ kind: "task" }), "message.kind"],
    ["null for a kind", message({ kind: null }), "message.kind"],
    ["an empty contextId", message({ contextId: "" }), "message.contextId"],
    ["an empty taskId", message({ taskId: "" }), "message.taskId"],
    ["a role of 1.0", message({ role: "ROLE_USER" }), "message.role"],
    ["a part without a kind", message({ parts: [{ text: "a" }] }), "message.parts[0].kind"],
    [
      "a part with a type",
      message({ parts: [{ type: "text", text: "a" }] }),
      "message.parts[0].kind",
    ],
    ["text for blocking", configuration({ blocking: "no" }), "configuration.blocking"],
  ];
}

function malformedOnlyIn1(message: Sending, configuration: Sending): readonly Malformed[] {
  return [
    ["a role of 0.3", message({ role: "user" }), "message.role"],
    ["a part without content", message({ parts: [{}] }), "message.parts[0]"],
    ["a part with two contents", message({ parts: [{ text: "a", data: 1 }] }), "message.parts[0]"],
    [
      "text for returnImmediately",
      configuration({ returnImmediately: "yes" }),
      "configuration.returnImmediately",
    ],
  ];
}

function malformedQueries(verb: Verb): readonly Malformed[] {
  const lengths: readonly Malformed[] = [
    ["a negative historyLength", { id: "t", historyLength: -1 }, "historyLength"],
    ["half a historyLength", { id: "t", historyLength: 1.5 }, "historyLength"],
    ["text for a historyLength", { id: "t", historyLength: "1" }, "historyLength"],
  ];
  return [
    ["no params", undefined, "params"],
    ["text for params", "t", "params"],
    ["no id", {}, "id"],
    ["an empty id", { id: "" }, "id"],
    ["a number for an id", { id: 5 }, "id"],
    ["null for an id", { id: null }, "id"],
    ["a list for an id", { id: ["t"] }, "id"],
    ["text for metadata", { id: "t", metadata: "x" }, "metadata"],
    ...(verb === "get" ? lengths : []),
  ];
}

const MALFORMED_LISTS: readonly Malformed[] = [
  ["a list for params", [], "params"],
  ["a pageSize of 0", { pageSize: 0 }, "pageSize"],
  ["a negative pageSize", { pageSize: -1 }, "pageSize"],
  ["a pageSize of 101", { pageSize: 101 }, "pageSize"],
  ["half a pageSize", { pageSize: 1.5 }, "pageSize"],
  ["text for a pageSize", { pageSize: "10" }, "pageSize"],
  ["a pageToken that no page returned", { pageToken: "next" }, "pageToken"],
  ["a number for a pageToken", { pageToken: 5 }, "pageToken"],
  ["a number for a contextId", { contextId: 5 }, "contextId"],
  ["a status of 0.3", { status: "working" }, "status"],
  [
    "a time without a zone",
    { statusTimestampAfter: "2026-01-31T12:00:00" },
    "statusTimestampAfter",
  ],
  ["a time in words", { statusTimestampAfter: "yesterday" }, "statusTimestampAfter"],
  ["a negative historyLength", { historyLength: -1 }, "historyLength"],
  ["text for includeArtifacts", { includeArtifacts: "yes" }, "includeArtifacts"],
];

for (const dialect of DIALECTS) {
  describe(`parameters in ${dialect.version}`, () => {
    const client = new WireClient(server, dialect);

    const refuses = (method: string, cases: readonly Malformed[]): void => {
      for (const [what, params, field] of cases) {
        verifies("R29", `${method} with ${what} gets an error that names ${field}`, async () => {
          const answer = await client.call(method, params);

          const fault = faultOf(answer);
          expect(answer.status).toBe(200);
          expect(bodyOf(answer)).toMatchObject({ jsonrpc: "2.0", id: 1 });
          expect(fault).toMatchObject({ code: -32602, field });
          expect(fault.message).toContain(field);
          expect(OFFICIAL_CODES).toContain(fault.code);
        });
      }
    };

    refuses("send", malformedSends(dialect));
    refuses("stream", malformedSends(dialect));
    for (const verb of ["get", "cancel", "subscribe"] as const) {
      refuses(verb, malformedQueries(verb));

      verifies("R29", `${verb} for an unknown task is -32001 with its id`, async () => {
        const answer = await client.call(verb, { id: "no-such-task" });

        expect(answer.status).toBe(200);
        expect(faultOf(answer)).toMatchObject({
          code: -32001,
          details: { taskId: "no-such-task" },
        });
      });
    }
    if (dialect.version === "1.0") refuses("ListTasks", MALFORMED_LISTS);
  });
}

verifies("R5", "a request without a message, or with another kind, gets the reason", async () => {
  const [v03] = DIALECTS as [Dialect];
  const client = new WireClient(server, v03);

  const none = await client.call("send", {});
  const wrong = await client.send("hello", { message: { kind: "task" } });

  expect(bodyOf(none).error).toEqual({
    code: -32602,
    message: "Invalid parameters: message is required",
    data: { reason: "message is required", field: "message" },
  });
  expect(bodyOf(wrong).error).toEqual({
    code: -32602,
    message: 'Invalid parameters: message.kind must be "message"',
    data: { reason: 'message.kind must be "message"', field: "message.kind" },
  });
});

verifies("R5", "a message in 0.3 may omit its kind", async () => {
  const [v03] = DIALECTS as [Dialect];

  const bare = await new WireClient(server, v03).sendTask("hello");
  const dressed = await new WireClient(server, v03).sendTask("hello", {
    message: { kind: "message" },
  });

  expect(bare.status.state).toBe("completed");
  expect(dressed.history).toMatchObject([{ kind: "message", role: "user" }]);
});
