import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import type { A2AError } from "../model/errors.ts";
import type { ProtocolVersion } from "../model/operations.ts";
import { CODECS } from "./codecs.ts";

/** A malformed request: what is wrong, and the field that the error has to name. */
interface Malformed {
  readonly what: string;
  readonly params: unknown;
  readonly field: string;
}

const ROLES = { "0.3": "user", "1.0": "ROLE_USER" } as const;
const HELLO = { "0.3": { kind: "text", text: "hello" }, "1.0": { text: "hello" } } as const;

function aWireMessage(version: ProtocolVersion, overrides: object = {}): object {
  return { messageId: "m1", role: ROLES[version], parts: [HELLO[version]], ...overrides };
}

/** Params of a send whose message has some fields replaced. */
function sending(version: ProtocolVersion, overrides: object): object {
  return { message: aWireMessage(version, overrides) };
}

function without(value: object, name: string): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

/** What is wrong in both versions in the same way. */
function malformedSends(version: ProtocolVersion): readonly Malformed[] {
  const message = aWireMessage(version);
  const send = (overrides: object) => sending(version, overrides);
  const [hello] = [HELLO[version]];
  return [
    { what: "no params", params: undefined, field: "params" },
    { what: "null for params", params: null, field: "params" },
    { what: "a list for params", params: [message], field: "params" },
    { what: "text for params", params: "hello", field: "params" },
    { what: "no message", params: {}, field: "message" },
    { what: "text for a message", params: { message: "hello" }, field: "message" },
    { what: "null for a message", params: { message: null }, field: "message" },
    { what: "a list for a message", params: { message: [] }, field: "message" },
    {
      what: "no messageId",
      params: { message: without(message, "messageId") },
      field: "message.messageId",
    },
    { what: "an empty messageId", params: send({ messageId: "" }), field: "message.messageId" },
    {
      what: "a number for a messageId",
      params: send({ messageId: 5 }),
      field: "message.messageId",
    },
    { what: "no role", params: { message: without(message, "role") }, field: "message.role" },
    { what: "an unknown role", params: send({ role: "assistant" }), field: "message.role" },
    { what: "null for a role", params: send({ role: null }), field: "message.role" },
    { what: "no parts", params: { message: without(message, "parts") }, field: "message.parts" },
    { what: "empty parts", params: send({ parts: [] }), field: "message.parts" },
    { what: "an object for parts", params: send({ parts: hello }), field: "message.parts" },
    {
      what: "text for a part",
      params: send({ parts: [hello, "hello"] }),
      field: "message.parts[1]",
    },
    { what: "null for a part", params: send({ parts: [null] }), field: "message.parts[0]" },
    {
      what: "a list for the metadata of a part",
      params: send({ parts: [{ ...hello, metadata: [] }] }),
      field: "message.parts[0].metadata",
    },
    {
      what: "a number for a text",
      params: send({ parts: [hello, hello, { ...hello, text: 5 }] }),
      field: "message.parts[2].text",
    },
    {
      what: "text for the metadata of a message",
      params: send({ metadata: "x" }),
      field: "message.metadata",
    },
    {
      what: "a list for the metadata of a message",
      params: send({ metadata: [] }),
      field: "message.metadata",
    },
    { what: "a number for a taskId", params: send({ taskId: 5 }), field: "message.taskId" },
    {
      what: "a number for a contextId",
      params: send({ contextId: 5 }),
      field: "message.contextId",
    },
    {
      what: "text for the referenced tasks",
      params: send({ referenceTaskIds: "t1" }),
      field: "message.referenceTaskIds",
    },
    {
      what: "a number among the referenced tasks",
      params: send({ referenceTaskIds: ["t1", 5] }),
      field: "message.referenceTaskIds[1]",
    },
    {
      what: "text for the extensions",
      params: send({ extensions: "x" }),
      field: "message.extensions",
    },
    {
      what: "text for the metadata of the request",
      params: { message, metadata: "x" },
      field: "metadata",
    },
    {
      what: "text for the configuration",
      params: { message, configuration: "fast" },
      field: "configuration",
    },
    ...[-1, 1.5, "5", null].map((historyLength) => ({
      what: `a historyLength of ${JSON.stringify(historyLength)}`,
      params: { message, configuration: { historyLength } },
      field: "configuration.historyLength",
    })),
    {
      what: "text for the accepted output modes",
      params: { message, configuration: { acceptedOutputModes: "text/plain" } },
      field: "configuration.acceptedOutputModes",
    },
  ];
}

const ONLY_03: readonly Malformed[] = [
  {
    what: "the role of 1.0",
    params: sending("0.3", { role: "ROLE_USER" }),
    field: "message.role",
  },
  { what: "an empty taskId", params: sending("0.3", { taskId: "" }), field: "message.taskId" },
  {
    what: "a part without a kind",
    params: sending("0.3", { parts: [{ text: "hello" }] }),
    field: "message.parts[0].kind",
  },
  {
    what: "a part of an unknown kind",
    params: sending("0.3", { parts: [{ kind: "video", text: "hello" }] }),
    field: "message.parts[0].kind",
  },
  {
    what: "a part with a type instead of a kind",
    params: sending("0.3", { parts: [{ type: "text", text: "hello" }] }),
    field: "message.parts[0].kind",
  },
  {
    what: "a text part without text",
    params: sending("0.3", { parts: [{ kind: "text" }] }),
    field: "message.parts[0].text",
  },
  {
    what: "a data part without data",
    params: sending("0.3", { parts: [{ kind: "data" }] }),
    field: "message.parts[0].data",
  },
  {
    what: "data that is not an object",
    params: sending("0.3", { parts: [{ kind: "data", data: [1] }] }),
    field: "message.parts[0].data",
  },
  {
    what: "a file part without a file",
    params: sending("0.3", { parts: [{ kind: "file" }] }),
    field: "message.parts[0].file",
  },
  {
    what: "text for a file",
    params: sending("0.3", { parts: [{ kind: "file", file: "aGk=" }] }),
    field: "message.parts[0].file",
  },
  {
    what: "a file without bytes and uri",
    params: sending("0.3", { parts: [{ kind: "file", file: { name: "a" } }] }),
    field: "message.parts[0].file",
  },
  {
    what: "a file with both bytes and uri",
    params: sending("0.3", {
      parts: [HELLO["0.3"], { kind: "file", file: { bytes: "aGk=", uri: "https://files.test" } }],
    }),
    field: "message.parts[1].file",
  },
  {
    what: "a number for the bytes of a file",
    params: sending("0.3", { parts: [{ kind: "file", file: { bytes: 5 } }] }),
    field: "message.parts[0].file.bytes",
  },
  {
    what: "an empty uri",
    params: sending("0.3", { parts: [{ kind: "file", file: { uri: "" } }] }),
    field: "message.parts[0].file.uri",
  },
  {
    what: "text for blocking",
    params: { message: aWireMessage("0.3"), configuration: { blocking: "no" } },
    field: "configuration.blocking",
  },
  {
    what: "text for a push configuration",
    params: { message: aWireMessage("0.3"), configuration: { pushNotificationConfig: "x" } },
    field: "configuration.pushNotificationConfig",
  },
];

const ONLY_1: readonly Malformed[] = [
  { what: "the role of 0.3", params: sending("1.0", { role: "user" }), field: "message.role" },
  { what: "a role of 0", params: sending("1.0", { role: 0 }), field: "message.role" },
  { what: "a role of 3", params: sending("1.0", { role: 3 }), field: "message.role" },
  {
    what: "a part without content",
    params: sending("1.0", { parts: [{ filename: "a.txt" }] }),
    field: "message.parts[0]",
  },
  {
    what: "a part with two contents",
    params: sending("1.0", { parts: [HELLO["1.0"], { text: "hello", data: null }] }),
    field: "message.parts[1]",
  },
  {
    what: "a file with both raw and url",
    params: sending("1.0", { parts: [{ raw: "aGk=", url: "https://files.test" }] }),
    field: "message.parts[0]",
  },
  {
    what: "an empty url",
    params: sending("1.0", { parts: [{ url: "" }] }),
    field: "message.parts[0].url",
  },
  {
    what: "a number for raw bytes",
    params: sending("1.0", { parts: [{ raw: 5 }] }),
    field: "message.parts[0].raw",
  },
  {
    what: "a number for a media type",
    params: sending("1.0", { parts: [{ text: "hello", mediaType: 5 }] }),
    field: "message.parts[0].mediaType",
  },
  {
    what: "text for returnImmediately",
    params: { message: aWireMessage("1.0"), configuration: { returnImmediately: "yes" } },
    field: "configuration.returnImmediately",
  },
  {
    what: "text for a push configuration",
    params: { message: aWireMessage("1.0"), configuration: { taskPushNotificationConfig: "x" } },
    field: "configuration.taskPushNotificationConfig",
  },
  {
    what: "a number for a tenant",
    params: { message: aWireMessage("1.0"), tenant: 5 },
    field: "tenant",
  },
];

const MALFORMED_QUERIES: readonly Malformed[] = [
  { what: "no params", params: undefined, field: "params" },
  { what: "null for params", params: null, field: "params" },
  { what: "text for params", params: "t1", field: "params" },
  { what: "a list for params", params: ["t1"], field: "params" },
  { what: "no id", params: {}, field: "id" },
  { what: "an empty id", params: { id: "" }, field: "id" },
  { what: "a number for an id", params: { id: 5 }, field: "id" },
  { what: "null for an id", params: { id: null }, field: "id" },
  { what: "text for metadata", params: { id: "t1", metadata: "x" }, field: "metadata" },
];

const MALFORMED_LISTS: readonly Malformed[] = [
  { what: "text for params", params: "all", field: "params" },
  { what: "a list for params", params: [], field: "params" },
  ...[0, 101, -1, 1.5, "x", "50", null].map((pageSize) => ({
    what: `a pageSize of ${JSON.stringify(pageSize)}`,
    params: { pageSize },
    field: "pageSize",
  })),
  ...["x", "working", "TASK_STATE_DONE", "constructor", 2].map((status) => ({
    what: `a status of ${JSON.stringify(status)}`,
    params: { status },
    field: "status",
  })),
  ...[
    "yesterday",
    "2026",
    "2026-01-31",
    "2026-99-99T00:00:00Z",
    "2026-01-31T12:00:00",
    "31.01.2026T12:00:00Z",
    1_769_860_800_000,
  ].map((statusTimestampAfter) => ({
    what: `a statusTimestampAfter of ${JSON.stringify(statusTimestampAfter)}`,
    params: { statusTimestampAfter },
    field: "statusTimestampAfter",
  })),
  { what: "a historyLength of -1", params: { historyLength: -1 }, field: "historyLength" },
  { what: "a historyLength of 0.5", params: { historyLength: 0.5 }, field: "historyLength" },
  {
    what: "text for includeArtifacts",
    params: { includeArtifacts: "yes" },
    field: "includeArtifacts",
  },
  { what: "a number for a contextId", params: { contextId: 5 }, field: "contextId" },
  { what: "a number for a pageToken", params: { pageToken: 5 }, field: "pageToken" },
];

describe.each(["0.3", "1.0"] as const)("a malformed request of %s", (version) => {
  const codec = CODECS[version];
  const own = version === "0.3" ? ONLY_03 : ONLY_1;

  test.each([...malformedSends(version), ...own])(
    "a send with $what gets an error that names $field",
    ({ params, field }) => {
      expectRefused(() => codec.decodeSendMessage(params), field);
    },
  );

  test.each(MALFORMED_QUERIES)(
    "a query with $what gets an error that names $field",
    ({ params, field }) => {
      expectRefused(() => codec.decodeGetTask(params), field);
      expectRefused(() => codec.decodeCancelTask(params), field);
      expectRefused(() => codec.decodeSubscribe(params), field);
    },
  );

  test.each([-1, 1.5, "5", null])(
    "a get with a historyLength of %j gets an error that names it",
    (historyLength) => {
      expectRefused(() => codec.decodeGetTask({ id: "t1", historyLength }), "historyLength");
    },
  );

  verifies(["R5"], "a request without a message gets an error that says so", () => {
    expect(() => codec.decodeSendMessage({})).toThrow("Invalid parameters: message is required");
  });
});

verifies(["R5"], "a message of another kind is rejected with the reason", () => {
  const params = sending("0.3", { kind: "task" });

  expectRefused(() => CODECS["0.3"].decodeSendMessage(params), "message.kind");
  expect(() => CODECS["0.3"].decodeSendMessage(params)).toThrow('message.kind must be "message"');
});

test.each(MALFORMED_LISTS)(
  "a list with $what gets an error that names $field",
  ({ params, field }) => {
    expectRefused(() => CODECS["1.0"].decodeListTasks(params), field);
  },
);

test("an invalid taskId in 0.3 is named as the caller wrote it", () => {
  expectRefused(() => CODECS["0.3"].decodeGetTask({ taskId: 5 }), "taskId");
  expectRefused(() => CODECS["0.3"].decodeCancelTask({ taskId: "" }), "taskId");
  expectRefused(() => CODECS["0.3"].decodeSubscribe({ taskId: null }), "taskId");
});

test("1.0 does not accept a taskId as an id", () => {
  expectRefused(() => CODECS["1.0"].decodeGetTask({ taskId: "t1" }), "id");
});

test.each([
  ["must be an object", { message: "hello" }],
  ["must not be empty", sending("0.3", { parts: [] })],
  ["must be one of user, agent", sending("0.3", { role: "assistant" })],
  ["is required", { message: without(aWireMessage("0.3"), "role") }],
  ["must be an integer", { message: aWireMessage("0.3"), configuration: { historyLength: 0.5 } }],
  ["must be a boolean", { message: aWireMessage("0.3"), configuration: { blocking: 1 } }],
  ["must have exactly one of bytes, uri", sending("0.3", { parts: [{ kind: "file", file: {} }] })],
])("the error says what the field must be: %s", (problem, params) => {
  expect(() => CODECS["0.3"].decodeSendMessage(params)).toThrow(problem);
});

function expectRefused(decode: () => unknown, field: string): void {
  const expected: Partial<A2AError> = { reason: "InvalidParams", field };
  expect(decode).toThrow(expect.objectContaining(expected));
  expect(decode).toThrow(`Invalid parameters: ${field} `);
}
