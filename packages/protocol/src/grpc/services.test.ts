import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { A2AError } from "../model/errors.ts";
import { OPERATIONS } from "../model/operations.ts";
import { aMessage, aTask, modelOf, overTheWire } from "../testing/arbitraries.suite.ts";
import { leanJson, protoJsonOf } from "../testing/proto-json.suite.ts";
import { PROTO_CODECS } from "../wire/codecs.ts";
import type { GrpcMethod } from "./binary/service.ts";
import { GRPC_SERVICES } from "./index.ts";
import { TABLES as TABLES_V03 } from "./v0_3/tables.gen.ts";
import { TABLES as TABLES_V1 } from "./v1/tables.gen.ts";

const VERSIONS = ["0.3", "1.0"] as const;
const TABLES = { "0.3": TABLES_V03, "1.0": TABLES_V1 };
const CREATE = {
  "0.3": "CreateTaskPushNotificationConfigRequest",
  "1.0": "TaskPushNotificationConfig",
};
const DIALECTS = { "0.3": "0.3-proto", "1.0": "1.0" } as const;

test("the 1.0 service has a method for each operation, under the same name", () => {
  const { name, methods } = GRPC_SERVICES["1.0"];

  expect(name).toBe("lf.a2a.v1.A2AService");
  expect(new Set(methods.map(({ operation }) => operation))).toEqual(
    new Set(Object.keys(OPERATIONS)),
  );
  for (const method of methods) {
    expect(method.name).toBe(OPERATIONS[method.operation].method);
    expect(method.path).toBe(`/lf.a2a.v1.A2AService/${method.name}`);
    expect(method.streaming).toBe(OPERATIONS[method.operation].streaming);
  }
});

test("the 0.3 service has its own names, and no list of tasks", () => {
  const { name, methods } = GRPC_SERVICES["0.3"];

  expect(name).toBe("a2a.v1.A2AService");
  expect(Object.fromEntries(methods.map(({ operation, path }) => [operation, path]))).toEqual({
    sendMessage: "/a2a.v1.A2AService/SendMessage",
    sendStreamingMessage: "/a2a.v1.A2AService/SendStreamingMessage",
    getTask: "/a2a.v1.A2AService/GetTask",
    cancelTask: "/a2a.v1.A2AService/CancelTask",
    subscribeToTask: "/a2a.v1.A2AService/TaskSubscription",
    createPushConfig: "/a2a.v1.A2AService/CreateTaskPushNotificationConfig",
    getPushConfig: "/a2a.v1.A2AService/GetTaskPushNotificationConfig",
    listPushConfigs: "/a2a.v1.A2AService/ListTaskPushNotificationConfig",
    deletePushConfig: "/a2a.v1.A2AService/DeleteTaskPushNotificationConfig",
    getExtendedCard: "/a2a.v1.A2AService/GetAgentCard",
  });
});

describe.each(VERSIONS)("over gRPC %s", (version) => {
  const codec = PROTO_CODECS[version];
  const model = modelOf(DIALECTS[version]);
  const { methods } = GRPC_SERVICES[version];
  const lean = (name: string, json: unknown) => leanJson(TABLES[version], name, overTheWire(json));
  const method = (operation: GrpcMethod["operation"]): GrpcMethod => {
    const found = methods.find((one) => one.operation === operation);
    if (found === undefined) throw new Error(`there is no ${operation}`);
    return found;
  };

  test("a request arrives unchanged", () => {
    fc.assert(
      fc.property(
        fc.record({
          send: model.sendMessage,
          get: model.getTask,
          cancel: model.cancelTask,
          create: model.createPushConfig,
          list: model.listPushConfigs,
          remove: model.deletePushConfig,
        }),
        ({ send, get, cancel, create, list, remove }) => {
          const sent = codec.encodeSendMessage(send);
          const got = codec.encodeGetTask(get);
          const canceled = codec.encodeCancelTask(cancel);
          const created = codec.encodeCreatePushConfig(create);
          const listed = codec.encodeListPushConfigs(list);
          const removed = codec.encodeDeletePushConfig(remove);

          expect(codec.decodeSendMessage(through("sendMessage", sent))).toStrictEqual(
            codec.decodeSendMessage(lean("SendMessageRequest", sent)),
          );
          expect(codec.decodeGetTask(through("getTask", got))).toStrictEqual(get);
          expect(codec.decodeCancelTask(through("cancelTask", canceled))).toStrictEqual(cancel);
          expect(codec.decodeCreatePushConfig(through("createPushConfig", created))).toStrictEqual(
            codec.decodeCreatePushConfig(lean(CREATE[version], created)),
          );
          expect(codec.decodeListPushConfigs(through("listPushConfigs", listed))).toStrictEqual(
            list,
          );
          expect(codec.decodeDeletePushConfig(through("deletePushConfig", removed))).toStrictEqual(
            remove,
          );
        },
      ),
    );
  });

  function through(operation: GrpcMethod["operation"], json: unknown): unknown {
    const one = method(operation);
    return one.decodeRequest(one.encodeRequest(json));
  }

  test("an event arrives as its ProtoJSON", () => {
    const one = method("sendStreamingMessage");
    fc.assert(
      fc.property(model.event, (event) => {
        const json = codec.encodeEvent(event);

        const arrived = one.decodeResponse(one.encodeResponse(json));

        expect(arrived).toStrictEqual(lean("StreamResponse", json));
        expect(() => codec.decodeEvent(arrived)).not.toThrow();
      }),
    );
  });

  test("a response without a stream arrives as well", () => {
    const task = codec.encodeTask(aTask({ history: [aMessage()] }));
    const config = codec.encodePushConfig({ taskId: "t1", id: "c1", url: "https://hooks.test/" });
    const answers = [
      ["sendMessage", codec.encodeSendResult(aMessage())],
      ["getTask", task],
      ["cancelTask", task],
      ["createPushConfig", config],
      ["getPushConfig", config],
      ["deletePushConfig", codec.encodeDeleted()],
    ] as const;

    for (const [operation, json] of answers) {
      const one = method(operation);

      expect(one.decodeResponse(one.encodeResponse(json))).toStrictEqual(overTheWire(json));
    }
  });

  test("every message of the proto survives a round trip through its bytes", () => {
    for (const [operation, request] of requestsOf(version)) {
      const one = method(operation);
      fc.assert(
        fc.property(protoJsonOf(TABLES[version], request), (json) => {
          expect(one.decodeRequest(one.encodeRequest(json))).toStrictEqual(json);
        }),
        { numRuns: 15 },
      );
    }
  });

  test("random bytes are rejected, and nothing else happens", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      // Plausible tags and lengths, so that the parser gets further.
      fc
        .array(fc.constantFrom(0x08, 0x0a, 0x10, 0x12, 0x1a, 0x22, 0x2a, 0x32, 1, 2, 4, 8), {
          maxLength: 64,
        })
        .map((list) => Uint8Array.from(list)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...methods), bytes, (one, made) => {
        onlyErrorsThatTravel(() => one.decodeRequest(made));
        onlyErrorsThatTravel(() => one.decodeResponse(made));
      }),
      { numRuns: 300 },
    );
  });

  test("truncated or changed bytes are rejected, or are another message", () => {
    const one = method("subscribeToTask");
    const damage = fc.tuple(model.event, fc.nat(), fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(damage, ([event, end, place, byte]) => {
        const bytes = Uint8Array.from(one.encodeResponse(codec.encodeEvent(event)));
        bytes[place % bytes.length] = byte;

        onlyErrorsThatTravel(() => one.decodeResponse(bytes.subarray(0, end % (bytes.length + 1))));
      }),
      { numRuns: 150 },
    );
  });

  test("invalid protobuf is reported as an error of its sender", () => {
    const one = method("getTask");
    const cut = Uint8Array.of(0x0a, 0x05, 0x61);
    const latin1 = Uint8Array.of(0x0a, 0x01, 0xe4);

    for (const bytes of [cut, latin1]) {
      expect(() => one.decodeRequest(bytes)).toThrow(
        expect.objectContaining({
          reason: "InvalidRequest",
          detail: "the message is not valid protobuf",
        }),
      );
      expect(() => one.decodeResponse(bytes)).toThrow(
        expect.objectContaining({ reason: "InvalidAgentResponse" }),
      );
    }
  });

  test("what cannot be written names the field, and its origin", () => {
    const one = method("getTask");

    expect(() => one.encodeRequest(5)).toThrow("GetTaskRequest must be an object");
    expect(() => one.encodeRequest({ historyLength: 1.5 })).toThrow(
      expect.objectContaining({ reason: "InvalidParams", field: "GetTaskRequest.historyLength" }),
    );
    expect(() => one.encodeResponse({ id: "t1", history: {} })).toThrow(
      expect.objectContaining({
        reason: "InvalidAgentResponse",
        detail: "Task.history must be an array",
      }),
    );
    expect(() => one.encodeResponse({ status: { state: "TASK_STATE_DREAMING" } })).toThrow(
      "TaskStatus.state must be one of TASK_STATE_UNSPECIFIED, TASK_STATE_SUBMITTED",
    );
  });
});

describe("a 0.3 caller over gRPC", () => {
  const one = GRPC_SERVICES["0.3"].methods[0] as GrpcMethod;
  const codec = PROTO_CODECS["0.3"];
  const message = { messageId: "m1", role: "ROLE_USER", content: [{ text: "hello" }] };
  const send = (json: object) =>
    codec.decodeSendMessage(one.decodeRequest(one.encodeRequest(json)));

  test("that omits blocking in its configuration does not wait", () => {
    expect(send({ message, configuration: {} }).blocking).toBe(false);
    expect(send({ message, configuration: { blocking: false } }).blocking).toBe(false);
    expect(send({ message, configuration: { blocking: true } }).blocking).toBe(true);
  });

  test("that has no configuration waits", () => {
    expect(send({ message }).blocking).toBe(true);
  });
});

function onlyErrorsThatTravel(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!A2AError.is(error)) throw error;
  }
}

/** The request of each operation. */
function requestsOf(version: (typeof VERSIONS)[number]) {
  return version === "1.0"
    ? ([
        ["sendMessage", "SendMessageRequest"],
        ["getTask", "GetTaskRequest"],
        ["listTasks", "ListTasksRequest"],
        ["cancelTask", "CancelTaskRequest"],
        ["subscribeToTask", "SubscribeToTaskRequest"],
        ["createPushConfig", "TaskPushNotificationConfig"],
        ["getPushConfig", "GetTaskPushNotificationConfigRequest"],
        ["listPushConfigs", "ListTaskPushNotificationConfigsRequest"],
        ["deletePushConfig", "DeleteTaskPushNotificationConfigRequest"],
        ["getExtendedCard", "GetExtendedAgentCardRequest"],
      ] as const)
    : ([
        ["sendMessage", "SendMessageRequest"],
        ["getTask", "GetTaskRequest"],
        ["cancelTask", "CancelTaskRequest"],
        ["subscribeToTask", "TaskSubscriptionRequest"],
        ["createPushConfig", "CreateTaskPushNotificationConfigRequest"],
        ["getPushConfig", "GetTaskPushNotificationConfigRequest"],
        ["listPushConfigs", "ListTaskPushNotificationConfigRequest"],
        ["deletePushConfig", "DeleteTaskPushNotificationConfigRequest"],
        ["getExtendedCard", "GetAgentCardRequest"],
      ] as const);
}
