import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import type { Message } from "../model/message.ts";
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

  test("the codec says which dialect it is", () => {
    expect(codec.dialect).toBe(dialect);
    expect(dialect.startsWith(codec.version)).toBe(true);
  });

  verifies(["R27", "R28"], "a message loses nothing on its way, whatever its parts", () => {
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

  test("the text of an event says what its encoding says", () => {
    // The richest model, so that 0.3 also meets what it has to leave out.
    const { message, task } = modelOf("1.0");
    fc.assert(
      fc.property(fc.oneof(message, task), (event: Message | Task) => {
        const text = codec.eventText(event, JSON.stringify(event));

        expect(JSON.parse(text)).toStrictEqual(overTheWire(codec.encodeSendResult(event)));
      }),
    );
  });

  test("a request is understood as it was meant", () => {
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

  verifies(["R17"], "a request about push configs is understood as it was meant", () => {
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

  test("encoding leaves the model as it was", () => {
    fc.assert(
      fc.property(model.event, (event) => {
        const before = JSON.stringify(event);

        codec.eventText(event, before);

        expect(JSON.stringify(event)).toBe(before);
      }),
    );
  });

  verifies(["R9"], "a send waits for the outcome unless it says that it does not", () => {
    const encoded = codec.encodeSendMessage({ message: aMessage(), blocking: true }) as object;
    const { configuration: _, ...bare } = { configuration: {}, ...encoded };
    const impatient = codec.encodeSendMessage({ message: aMessage(), blocking: false });

    expect(codec.decodeSendMessage(bare).blocking).toBe(true);
    // Proto3 cannot say false in any other way than by silence.
    const silent = codec.decodeSendMessage({ ...bare, configuration: {} });
    expect(silent.blocking).toBe(dialect !== "0.3-proto");
    expect(codec.decodeSendMessage(impatient).blocking).toBe(false);
  });

  test("fields that nobody knows yet survive, whatever they hold", () => {
    fc.assert(
      fc.property(jsonObjects, (extras) => {
        const unknown = withPrefixedKeys(extras);
        const message = codec.encodeSendResult(aMessage());
        const wire = overTheWire(
          dialect === "0.3"
            ? { ...(message as object), ...unknown }
            : { message: { ...inside(message, "message"), ...unknown } },
        );

        expect(codec.decodeSendResult(wire)).toStrictEqual({ ...aMessage(), ...unknown });
      }),
    );
  });

  test("a field called __proto__ stays a field and becomes nobody's prototype", () => {
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
    expect(JSON.stringify(arrived)).toContain('"__proto__":{"taskId":5}');
  });

  verifies(["R24"], "whatever was read, kind is its first property", () => {
    fc.assert(
      fc.property(model.event, (event) => {
        const shuffled = kindLast(JSON.parse(codec.eventText(event, JSON.stringify(event))));

        expectKindFirst(codec.decodeEvent(shuffled));
      }),
    );
  });
});

test("an answer without a status or a context is read as far as it goes", () => {
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

test.each(DIALECTS)("an answer of %s that is nothing we know is the agent's mistake", (dialect) => {
  const codec = ALL[dialect];
  const mistake = expect.objectContaining({ reason: "InvalidAgentResponse" });

  for (const nothing of [undefined, null, {}, { kind: "riddle" }, { riddle: {} }]) {
    expect(() => codec.decodeEvent(nothing)).toThrow(mistake);
    expect(() => codec.decodeTask(nothing)).toThrow(mistake);
    expect(() => codec.decodeSendResult(nothing)).toThrow(mistake);
    expect(() => codec.decodePushConfig(nothing)).toThrow(mistake);
  }
});

test("an artifact update of a foreign agent is an artifact update of ours", () => {
  const update = aChunk("hello");
  const { kind: _, ...bare } = update;

  expect(CODECS["0.3"].decodeEvent(update)).toStrictEqual(update);
  expect(
    CODECS["1.0"].decodeEvent({
      artifactUpdate: { ...bare, artifact: { artifactId: "a1", parts: [{ text: "hello" }] } },
    }),
  ).toStrictEqual(update);
});

test("what 0.3 said is still the same after a bridge said it in 1.0", () => {
  fc.assert(
    fc.property(modelOf("0.3").task, (task) => {
      const read = CODECS["0.3"].decodeTask(overTheWire(CODECS["0.3"].encodeTask(task)));
      const bridged = CODECS["1.0"].decodeTask(overTheWire(CODECS["1.0"].encodeTask(read)));

      expect(bridged).toStrictEqual(task);
    }),
  );
});

test("a task that nobody has an id for is not a task", () => {
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

/** The same JSON with every kind at the end, where no reader may rely on it. */
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
