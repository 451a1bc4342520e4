import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { snakeCase } from "../internal/json.ts";
import type { Message } from "../model/message.ts";
import type { A2APart, Metadata } from "../model/part.ts";
import type { Task } from "../model/task.ts";
import {
  aChunk,
  aMessage,
  aTask,
  jsonObjects,
  modelOf,
  overTheWire,
} from "../testing/arbitraries.suite.ts";
import { CODECS, PROTO_CODECS } from "./codecs.ts";

const DIALECTS = ["0.3", "0.3-proto", "1.0"] as const;

const ALL = { ...CODECS, "0.3-proto": PROTO_CODECS["0.3"] };

describe.each(DIALECTS)("over A2A %s", (dialect) => {
  const codec = ALL[dialect];
  const model = modelOf(dialect);

  test("the codec identifies its dialect", () => {
    expect(codec.dialect).toBe(dialect);
    expect(dialect.startsWith(codec.version)).toBe(true);
  });

  verifies(["R27", "R28"], "a message loses nothing, whatever its parts", () => {
    fc.assert(
      fc.property(model.message, (message) => {
        const arrived = codec.decodeSendResult(overTheWire(codec.encodeSendResult(message)));

        expect(arrived).toStrictEqual(message);
      }),
    );
  });

  verifies(["R28"], "a task arrives as it was sent, with history, artifacts and metadata", () => {
    fc.assert(
      fc.property(model.task, (task) => {
        const arrived = codec.decodeTask(overTheWire(codec.encodeTask(task)));
        const result = codec.decodeSendResult(overTheWire(codec.encodeSendResult(task)));

        expect(arrived).toStrictEqual(task);
        expect(result).toStrictEqual(task);
      }),
    );
  });

  verifies(["R38"], "an event of a stream arrives as it was sent", () => {
    fc.assert(
      fc.property(model.event, (event) => {
        const text = codec.eventText(event, JSON.stringify(event));

        expect(codec.decodeEvent(JSON.parse(text))).toStrictEqual(event);
        expect(overTheWire(codec.encodeEvent(event))).toStrictEqual(JSON.parse(text));
      }),
    );
  });

  test("the text of an event equals its encoding", () => {
    // The richest model, so that 0.3 also has to omit something.
    const { message, task } = modelOf("1.0");
    fc.assert(
      fc.property(fc.oneof(message, task), (event: Message | Task) => {
        const text = codec.eventText(event, JSON.stringify(event));

        expect(JSON.parse(text)).toStrictEqual(overTheWire(codec.encodeSendResult(event)));
      }),
    );
  });

  test("a request arrives unchanged", () => {
    fc.assert(
      fc.property(
        fc.record({
          send: model.sendMessage,
          get: model.getTask,
          cancel: model.cancelTask,
          subscribe: model.subscribe,
        }),
        ({ send, get, cancel, subscribe }) => {
          const sent = codec.decodeSendMessage(overTheWire(codec.encodeSendMessage(send)));
          const got = codec.decodeGetTask(overTheWire(codec.encodeGetTask(get)));
          const canceled = codec.decodeCancelTask(overTheWire(codec.encodeCancelTask(cancel)));
          const subscribed = codec.decodeSubscribe(overTheWire(codec.encodeSubscribe(subscribe)));

          expect(sent).toStrictEqual(send);
          expect(got).toStrictEqual(get);
          expect(canceled).toStrictEqual(cancel);
          expect(subscribed).toStrictEqual(subscribe);
        },
      ),
    );
  });

  verifies(["R17"], "a request about push configs arrives unchanged", () => {
    fc.assert(
      fc.property(
        fc.record({
          create: model.createPushConfig,
          get: model.getPushConfig,
          list: model.listPushConfigs,
          remove: model.deletePushConfig,
        }),
        ({ create, get, list, remove }) => {
          const wire = {
            create: overTheWire(codec.encodeCreatePushConfig(create)),
            get: overTheWire(codec.encodeGetPushConfig(get)),
            list: overTheWire(codec.encodeListPushConfigs(list)),
            remove: overTheWire(codec.encodeDeletePushConfig(remove)),
          };

          expect(codec.decodeCreatePushConfig(wire.create)).toStrictEqual(create);
          expect(codec.decodeGetPushConfig(wire.get)).toStrictEqual(get);
          expect(codec.decodeListPushConfigs(wire.list)).toStrictEqual(list);
          expect(codec.decodeDeletePushConfig(wire.remove)).toStrictEqual(remove);
        },
      ),
    );
  });

  test("a push config arrives as it was sent, alone and in a page", () => {
    fc.assert(
      fc.property(model.pushConfig, model.pushConfigPage, (config, page) => {
        const one = overTheWire(codec.encodePushConfig(config));
        const many = overTheWire(codec.encodePushConfigPage(page));

        expect(codec.decodePushConfig(one)).toStrictEqual(config);
        expect(codec.decodePushConfigPage(many)).toStrictEqual(page);
      }),
    );
  });

  test("encoding does not change the model", () => {
    fc.assert(
      fc.property(model.event, (event) => {
        const before = JSON.stringify(event);

        codec.eventText(event, before);

        expect(JSON.stringify(event)).toBe(before);
      }),
    );
  });

  verifies(["R9"], "a send waits for the result by default", () => {
    const encoded = codec.encodeSendMessage({ message: aMessage(), blocking: true }) as object;
    const { configuration: _, ...bare } = { configuration: {}, ...encoded };
    const impatient = codec.encodeSendMessage({ message: aMessage(), blocking: false });

    expect(codec.decodeSendMessage(bare).blocking).toBe(true);
    // Proto3 can express false only by omitting the field.
    const silent = codec.decodeSendMessage({ ...bare, configuration: {} });
    expect(silent.blocking).toBe(dialect !== "0.3-proto");
    expect(codec.decodeSendMessage(impatient).blocking).toBe(false);
  });

  test("unknown fields with any value are dropped, and metadata keeps everything", () => {
    fc.assert(
      fc.property(jsonObjects, (extras) => {
        const unknown = withPrefixedKeys(extras);
        const message = codec.encodeSendResult(aMessage());
        const wire = overTheWire(
          dialect === "0.3"
            ? { ...(message as object), ...unknown }
            : { message: { ...inside(message, "message"), ...unknown } },
        );

        expect(codec.decodeSendResult(wire)).toStrictEqual(aMessage());
        const { message: sent } = codec.encodeSendMessage({
          message: aMessage({ metadata: unknown as Metadata }),
          blocking: true,
        }) as { message: object };
        expect(
          codec.decodeSendMessage(overTheWire({ message: { ...sent, ...unknown } })).message,
        ).toStrictEqual(aMessage({ metadata: unknown as Metadata }));
      }),
    );
  });

  test("unknown fields of parts and files are dropped", () => {
    const parts: A2APart[] = [
      { kind: "text", text: "hello" },
      { kind: "data", data: { a: 1 } },
      { kind: "file", file: { uri: "https://x.test/f", name: "f" } },
    ];
    const { message } = overTheWire(
      codec.encodeSendMessage({ message: aMessage({ parts }), blocking: true }),
    ) as { message: { parts?: object[]; content?: object[] } };
    for (const part of message.parts ?? message.content ?? []) {
      Object.assign(part, { unknown: 1 });
      if ("file" in part) Object.assign(part.file as object, { unknown: 1 });
    }

    expect(codec.decodeSendMessage({ message }).message).toStrictEqual(aMessage({ parts }));
  });

  // 0.3 JSON-RPC responses have no proto.
  if (dialect !== "0.3")
    test("a response is also read with proto field names", () => {
      fc.assert(
        fc.property(model.event, (event) => {
          const wire = overTheWire(codec.encodeEvent(event));

          expect(codec.decodeEvent(withProtoNames(wire))).toStrictEqual(codec.decodeEvent(wire));
        }),
      );
    });

  test("every request is also read with proto field names", () => {
    const request = {
      message: aMessage({ contextId: "c1", taskId: "t1", referenceTaskIds: ["t0"] }),
      blocking: false,
      historyLength: 3,
      acceptedOutputModes: ["text/plain"],
      pushConfig: { url: "https://hooks.test/" },
    };
    const sent = overTheWire(codec.encodeSendMessage(request));
    expect(codec.decodeSendMessage(withProtoNames(sent))).toStrictEqual(
      codec.decodeSendMessage(sent),
    );
    for (const [encode, decode] of [
      [
        codec.encodeGetTask({ taskId: "t1", historyLength: 2 }),
        (params: unknown) => codec.decodeGetTask(params),
      ],
      [
        codec.encodeGetPushConfig({ taskId: "t1", id: "c1" }),
        (params: unknown) => codec.decodeGetPushConfig(params),
      ],
      [
        codec.encodeDeletePushConfig({ taskId: "t1", id: "c1" }),
        (params: unknown) => codec.decodeDeletePushConfig(params),
      ],
      [
        codec.encodeListPushConfigs({ taskId: "t1" }),
        (params: unknown) => codec.decodeListPushConfigs(params),
      ],
      [
        codec.encodeCreatePushConfig({ taskId: "t1", target: { url: "https://hooks.test/" } }),
        (params: unknown) => codec.decodeCreatePushConfig(params),
      ],
    ] as const) {
      const params = overTheWire(encode);
      expect(decode(withProtoNames(params))).toStrictEqual(decode(params));
    }
  });

  test("a field under two names must have one value", () => {
    const { message } = codec.encodeSendMessage({ message: aMessage(), blocking: true }) as {
      message: { readonly messageId: string };
    };
    const twice = (message_id: string) => ({ message: { ...message, message_id } });

    expect(codec.decodeSendMessage(twice(message.messageId)).message).toStrictEqual(aMessage());
    expect(() => codec.decodeSendMessage(twice("another"))).toThrow(
      expect.objectContaining({ reason: "InvalidParams", field: "message.messageId" }),
    );
  });

  test("a message in a response may lack its id and its role", () => {
    const { task } = { task: {}, ...(overTheWire(codec.encodeEvent(aTask())) as object) };
    const bare =
      dialect === "0.3-proto"
        ? { content: [{ text: "hi" }] }
        : { parts: [{ text: "hi", kind: "text" }] };
    const answer = { ...(dialect === "0.3" ? aTask() : task), history: [bare] };

    expect(codec.decodeTask(answer).history).toStrictEqual([
      {
        kind: "message",
        messageId: "unnamed",
        role: "agent",
        parts: [{ kind: "text", text: "hi" }],
      },
    ]);
  });

  test("a field called __proto__ is dropped and never becomes a prototype", () => {
    const { message } = codec.encodeSendMessage({ message: aMessage(), blocking: true }) as {
      message: object;
    };
    const text = JSON.stringify({ message }).replace(
      '"messageId"',
      '"__proto__":{"taskId":5},"messageId"',
    );

    const arrived = codec.decodeSendMessage(JSON.parse(text)).message;

    expect(arrived.taskId).toBeUndefined();
    expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
    expect(JSON.stringify(arrived)).not.toContain("__proto__");
  });

  verifies(["R24"], "kind is always the first property of the output", () => {
    fc.assert(
      fc.property(model.event, (event) => {
        const shuffled = kindLast(JSON.parse(codec.eventText(event, JSON.stringify(event))));

        expectKindFirst(codec.decodeEvent(shuffled));
      }),
    );
  });
});

test("a response without a status or a context is read as far as possible", () => {
  expect(CODECS["0.3"].decodeTask({ id: "t1" }).status).toEqual({ state: "unknown" });
  for (const codec of Object.values(PROTO_CODECS)) {
    expect(codec.decodeTask({ id: "t1" })).toMatchObject({
      contextId: "",
      status: { state: "unknown" },
    });
    expect(codec.decodeTask({ id: "t1", artifacts: [{ artifactId: "a1" }] }).artifacts).toEqual([
      { artifactId: "a1", parts: [] },
    ]);
  }
});

test.each(DIALECTS)("an unknown response to %s is reported as an error of the agent", (dialect) => {
  const codec = ALL[dialect];
  const mistake = expect.objectContaining({ reason: "InvalidAgentResponse" });

  for (const nothing of [undefined, null, {}, { kind: "riddle" }, { riddle: {} }]) {
    expect(() => codec.decodeEvent(nothing)).toThrow(mistake);
    expect(() => codec.decodeTask(nothing)).toThrow(mistake);
    expect(() => codec.decodeSendResult(nothing)).toThrow(mistake);
    expect(() => codec.decodePushConfig(nothing)).toThrow(mistake);
  }
});

test("an artifact update of another implementation is read as one of ours", () => {
  const update = aChunk("hello");
  const { kind: _, ...bare } = update;

  expect(CODECS["0.3"].decodeEvent(update)).toStrictEqual(update);
  expect(
    CODECS["1.0"].decodeEvent({
      artifactUpdate: { ...bare, artifact: { artifactId: "a1", parts: [{ text: "hello" }] } },
    }),
  ).toStrictEqual(update);
});

test.each([
  ["0.3", { kind: "text", text: "hello" }],
  ["1.0", { text: "hello" }],
] as const)("the parts of a chunk are checked in %s", (version, part) => {
  const decode = (changes: object) => {
    const artifact = { artifactId: "a1", parts: [{ ...part, ...changes }] };
    const chunk = { ...aChunk("hello"), artifact };
    return CODECS[version].decodeEvent(version === "0.3" ? chunk : { artifactUpdate: chunk });
  };

  expect(() => decode({ text: 5 })).toThrow("text");
  expect(() => decode({ metadata: "none" })).toThrow("metadata");
  expect(decode({ unknown: 1 })).toStrictEqual(aChunk("hello"));
});

test("0.3 data is unchanged after a bridge to 1.0 and back", () => {
  fc.assert(
    fc.property(modelOf("0.3").task, (task) => {
      const read = CODECS["0.3"].decodeTask(overTheWire(CODECS["0.3"].encodeTask(task)));
      const bridged = CODECS["1.0"].decodeTask(overTheWire(CODECS["1.0"].encodeTask(read)));

      expect(bridged).toStrictEqual(task);
    }),
  );
});

test("a task without an id is not a task", () => {
  expect(() => CODECS["1.0"].decodeTaskPage({ tasks: [{}] })).toThrow("the task has no id");
  expect(CODECS["1.0"].decodeTaskPage({ tasks: [aTask()] }).tasks).toHaveLength(1);
});

/** Keys that the protocol does not use. */
function withPrefixedKeys(extras: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(extras).map(([key, value]) => [`x-${key}`, value]));
}

function inside(value: unknown, member: string): object {
  return (value as Record<string, object>)[member] ?? {};
}

/** The same JSON with proto field names; data and metadata are the caller's own. */
function withProtoNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withProtoNames);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const isOwn = key === "data" || key === "metadata";
    return [snakeCase(key), isOwn ? inner : withProtoNames(inner)] as const;
  });
  return Object.fromEntries(entries);
}

/** The same JSON with every kind at the end, because no reader may rely on its position. */
function kindLast(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kindLast);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, kindLast(inner)] as const);
  const first = entries.filter(([key]) => key !== "kind");
  return Object.fromEntries([...first, ...entries.filter(([key]) => key === "kind")]);
}

/** Every protocol object inside; data and metadata are the caller's own. */
function expectKindFirst(value: unknown): void {
  if (Array.isArray(value)) return value.forEach(expectKindFirst);
  if (typeof value !== "object" || value === null) return;
  if ("kind" in value) expect(Object.keys(value)[0]).toBe("kind");
  for (const [key, inner] of Object.entries(value)) {
    if (key !== "data" && key !== "metadata") expectKindFirst(inner);
  }
}
