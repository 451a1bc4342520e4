import fc from "fast-check";
import protobuf from "protobufjs";
import protojson from "protobufjs/ext/protojson.js";
import { describe, expect, test } from "vitest";
import { protoJsonOf } from "../../testing/proto-json.suite.ts";
import { TABLES as TABLES_V03 } from "../v0_3/tables.gen.ts";
import { TABLES as TABLES_V1 } from "../v1/tables.gen.ts";
import { messageCodecs } from "./message.ts";
import type { ProtoTables } from "./wire-format.ts";

const v03 = messageCodecs(TABLES_V03);
const v1 = messageCodecs(TABLES_V1);

const decodeBase64 = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

// Computed by hand: tag = number * 8 + wire type, then a length or a varint.
const VECTORS = [
  // 1: "tasks/t1", 2: 3
  [
    v03,
    "GetTaskRequest",
    { name: "tasks/t1", historyLength: 3 },
    "0a08" + "7461736b732f7431" + "1003",
  ],
  // 2: "t1", 3: 0, which differs from absent
  [v1, "GetTaskRequest", { id: "t1", historyLength: 0 }, "1202" + "7431" + "1800"],
  // 1: "m", 4: ROLE_USER, 5: { 1: "hi" }
  [
    v03,
    "Message",
    { messageId: "m", role: "ROLE_USER", content: [{ text: "hi" }] },
    "0a016d" + "2001" + "2a04" + "0a026869",
  ],
  // 1: "a", 3: "n", 5: { 2: { 2: bytes 00 ff } }: 0.3 has no second field
  [
    v03,
    "Artifact",
    { artifactId: "a", name: "n", parts: [{ file: { fileWithBytes: "AP8=" } }] },
    "0a0161" + "1a016e" + "2a06" + "1204" + "1202" + "00ff",
  ],
  // 1: TASK_STATE_CANCELLED, 3: { 1: 1, 2: 500000000 }
  [
    v03,
    "TaskStatus",
    { state: "TASK_STATE_CANCELLED", timestamp: "1970-01-01T00:00:01.500Z" },
    "0805" + "1a08" + "0801" + "1080cab5ee01",
  ],
  // 4: { 1: null }, and 4: { 3: "" }: content although it is empty
  [v1, "Part", { data: null }, "2202" + "0800"],
  [v1, "Part", { data: "" }, "2202" + "1a00"],
  [v1, "Part", { text: "" }, "0a00"],
  // 5: { fields { "a": 1.0 } }
  [
    v1,
    "Part",
    { metadata: { a: 1 } },
    "2a10" + "0a0e" + "0a0161" + "1209" + "11" + "000000000000f03f",
  ],
  // 8: { "b": { 2: { 2: "bearer" } } }
  [
    v1,
    "AgentCard",
    { securitySchemes: { b: { httpAuthSecurityScheme: { scheme: "bearer" } } } },
    "420f" + "0a0162" + "120a" + "1208" + "1206" + "626561726572",
  ],
  [v1, "Empty", {}, ""],
] as const;

test.each(VECTORS)(
  "the bytes of a message follow its field numbers: %#",
  (codecs, name, json, hex) => {
    expect(hexOf(codecs(name).encode(json))).toBe(hex);
    expect(codecs(name).decode(decodeBase64(hex))).toStrictEqual(json);
  },
);

describe.each([
  ["0.3", TABLES_V03],
  ["1.0", TABLES_V1],
] as const)("every message of %s", (_, tables) => {
  const codecs = messageCodecs(tables);
  const root = reflectionOf(tables);

  test.each(Object.keys(tables.messages))("%s is the same for another implementation", (name) => {
    const type = root.lookupType(name);
    fc.assert(
      fc.property(protoJsonOf(tables, name), (json) => {
        const ours = codecs(name).encode(json);
        const theirs = type.encode(protojson.fromJson(type, json)).finish();

        expect(codecs(name).decode(ours)).toStrictEqual(json);
        expect(codecs(name).decode(theirs)).toStrictEqual(json);
        expect(type.decode(ours)).toEqual(type.decode(theirs));
      }),
      { numRuns: 20 },
    );
  });
});

describe("reading", () => {
  test("skips unknown fields, of every wire type", () => {
    // 15: a varint, 16: eight bytes, 17: a length, 18: a group with a varint, 19: four bytes
    const unknown = "7801" + "81010102030405060708" + "8a0102ffff" + "9301080194019d0101020304";

    expect(v1("GetTaskRequest").decode(decodeBase64(`${unknown}12027431${unknown}`))).toStrictEqual(
      {
        id: "t1",
      },
    );
  });

  test("skips a field of the wrong wire type", () => {
    // 2 is a string, and is sent as a number.
    expect(v1("GetTaskRequest").decode(decodeBase64("1005"))).toStrictEqual({});
  });

  test("uses the last of several values, and of a oneof the last member", () => {
    expect(v1("GetTaskRequest").decode(decodeBase64("120161" + "120162"))).toStrictEqual({
      id: "b",
    });
    expect(v1("Part").decode(decodeBase64("0a0161" + "1a0162"))).toStrictEqual({ url: "b" });
  });

  test("drops a value that a later one resets", () => {
    expect(v1("GetTaskRequest").decode(decodeBase64("120161" + "1200"))).toStrictEqual({});
  });

  test("merges a message that arrives in several fields", () => {
    // Task.status: { 1: 1 }, and then { 3: {} }
    expect(v1("Task").decode(decodeBase64("1a020801" + "1a021a00"))).toStrictEqual({
      status: { state: "TASK_STATE_SUBMITTED", timestamp: "1970-01-01T00:00:00.000Z" },
    });
  });

  test("keeps the number of an unknown state", () => {
    expect(v1("TaskStatus").decode(decodeBase64("0863"))).toStrictEqual({ state: 99 });
    expect(hexOf(v1("TaskStatus").encode({ state: 99 }))).toBe("0863");
  });

  test("ends where its length says, and not beyond", () => {
    // Task.status has one byte, in which a field of two bytes starts.
    expect(() => v1("Task").decode(decodeBase64("1a0108" + "01"))).toThrow();
    expect(() => v1("Task").decode(decodeBase64("1a7f0801"))).toThrow();
  });

  test("does not treat a field as a prototype", () => {
    const scopes: unknown = JSON.parse('{"__proto__":"all"}');

    const read = v1("PasswordOAuthFlow").decode(v1("PasswordOAuthFlow").encode({ scopes }));

    expect(JSON.stringify(read)).toBe('{"scopes":{"__proto__":"all"}}');
  });
});

describe("writing", () => {
  test("omits what is default, unknown, null or undefined", () => {
    const json = { id: "", contextId: null, status: undefined, history: [], stranger: 1 };

    expect(v1("Task").encode(json)).toHaveLength(0);
  });

  test("replaces a lone surrogate, which UTF-8 cannot represent", () => {
    const { text } = v1("Part").decode(v1("Part").encode({ text: "cut \ud83d" })) as {
      text: string;
    };

    expect(text).toBe("cut \ufffd");
  });

  test.each(["AP8=", "AP8", "AP-_", "AP+/", ""])("accepts the base64 %j", (raw) => {
    expect(v1("Part").decode(v1("Part").encode({ raw }))).toEqual({
      raw: Buffer.from(raw, "base64").toString("base64"),
    });
  });

  test.each(["A", "AP8==x", "not base64", "====", "ÄÖ"])("rejects %j as base64", (raw) => {
    expect(() => v1("Part").encode({ raw })).toThrow("Part.raw must be base64");
  });

  test.each([
    ["Part", { text: 5 }, "Part.text must be a string"],
    ["Part", { raw: 5 }, "Part.raw must be a string of base64"],
    ["Part", { metadata: [] }, "Part.metadata must be an object"],
    ["Task", { status: "working" }, "Task.status must be an object"],
    ["Task", { history: [null] }, "Task.history must be an object"],
    ["SendMessageConfiguration", { returnImmediately: 1 }, "returnImmediately must be a boolean"],
    ["ListTasksRequest", { pageSize: 2 ** 31 }, "ListTasksRequest.pageSize must be an integer"],
    ["Message", { role: "ROLE_JESTER" }, "Message.role must be one of ROLE_UNSPECIFIED, ROLE_USER"],
    ["PasswordOAuthFlow", { scopes: "all" }, "PasswordOAuthFlow.scopes must be an object"],
  ])("names the field of %s that cannot be written: %j", (name, json, problem) => {
    expect(() => v1(name).encode(json)).toThrow(problem);
  });
});

/** The same tables as a proto file, read by protobufjs, with its own well-known types. */
function reflectionOf(tables: ProtoTables): protobuf.Root {
  const root = new protobuf.Root();
  for (const file of ["struct", "timestamp"]) {
    root.addJSON(protobuf.common.get(`google/protobuf/${file}.proto`)?.nested ?? {});
  }
  const enums = Object.entries(tables.enums).map(([name, values]) => {
    return `enum ${name} { ${values.map((value, place) => `${value} = ${place};`).join(" ")} }`;
  });
  const messages = Object.entries(tables.messages).map(([name, rows]) => {
    return `message ${name} { ${fieldLines(rows).join(" ")} }`;
  });
  const file = ['syntax = "proto3";', ...enums, ...messages].join("\n");
  protobuf.parse(file, root, { keepCase: true });
  return root.resolveAll() as protobuf.Root;
}

function fieldLines(rows: ProtoTables["messages"][string]): readonly string[] {
  const oneofs = new Map<string, string[]>();
  const lines = Object.entries(rows).flatMap(([key, [number, type, rule = ""]]) => {
    const isKnown = ["Struct", "Value", "Timestamp"].includes(type);
    const field = `${isKnown ? `google.protobuf.${type}` : type} ${key} = ${number};`;
    if (rule.startsWith("oneof ")) oneofs.set(rule, [...(oneofs.get(rule) ?? []), field]);
    if (rule.startsWith("oneof ")) return [];
    if (rule === "map") return [`map<string, ${type}> ${key} = ${number};`];
    return [rule === "repeated" || rule === "optional" ? `${rule} ${field}` : field];
  });
  return [...lines, ...[...oneofs].map(([rule, fields]) => `${rule} { ${fields.join(" ")} }`)];
}
