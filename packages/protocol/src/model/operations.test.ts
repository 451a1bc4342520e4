import { expect, test } from "vitest";
import { OPERATIONS, type OperationName, findMethod } from "./operations.ts";

/** 0.3 §3.5.6 and 1.0 §5.3, verbatim. */
const OFFICIAL: Readonly<Record<string, readonly [operation: OperationName, version: string]>> = {
  "message/send": ["sendMessage", "0.3"],
  "message/stream": ["sendStreamingMessage", "0.3"],
  "tasks/get": ["getTask", "0.3"],
  "tasks/cancel": ["cancelTask", "0.3"],
  "tasks/resubscribe": ["subscribeToTask", "0.3"],
  "tasks/pushNotificationConfig/set": ["createPushConfig", "0.3"],
  "tasks/pushNotificationConfig/get": ["getPushConfig", "0.3"],
  "tasks/pushNotificationConfig/list": ["listPushConfigs", "0.3"],
  "tasks/pushNotificationConfig/delete": ["deletePushConfig", "0.3"],
  "agent/getAuthenticatedExtendedCard": ["getExtendedCard", "0.3"],
  "agent/authenticatedExtendedCard": ["getExtendedCard", "0.3"],
  SendMessage: ["sendMessage", "1.0"],
  SendStreamingMessage: ["sendStreamingMessage", "1.0"],
  GetTask: ["getTask", "1.0"],
  ListTasks: ["listTasks", "1.0"],
  CancelTask: ["cancelTask", "1.0"],
  SubscribeToTask: ["subscribeToTask", "1.0"],
  CreateTaskPushNotificationConfig: ["createPushConfig", "1.0"],
  GetTaskPushNotificationConfig: ["getPushConfig", "1.0"],
  ListTaskPushNotificationConfigs: ["listPushConfigs", "1.0"],
  DeleteTaskPushNotificationConfig: ["deletePushConfig", "1.0"],
  GetExtendedAgentCard: ["getExtendedCard", "1.0"],
};

test("every official method is found with its operation and its version", () => {
  const found = Object.fromEntries(
    Object.keys(OFFICIAL).map((name) => {
      const method = findMethod(name);
      return [name, [method?.operation, method?.version]];
    }),
  );

  expect(found).toEqual(OFFICIAL);
});

test("the table contains the official methods and no other", () => {
  const names = Object.values(OPERATIONS).flatMap(({ method, methods03 }) => [
    method,
    ...methods03,
  ]);

  expect(names.toSorted()).toEqual(Object.keys(OFFICIAL).toSorted());
});

test("the spelling of a method identifies its version", () => {
  for (const { method, methods03 } of Object.values(OPERATIONS)) {
    expect(method).toMatch(/^[A-Z][A-Za-z]+$/);
    for (const name of methods03) expect(name).toMatch(/^[a-z]+(\/[A-Za-z]+)+$/);
  }
});

test("only sending with a stream and subscribing return streams", () => {
  const streaming = (Object.keys(OPERATIONS) as OperationName[]).filter(
    (name) => OPERATIONS[name].streaming,
  );

  expect(streaming).toEqual(["sendStreamingMessage", "subscribeToTask"]);
});

test.each(["", "tasks/list", "message/Send", "sendMessage", "toString", "__proto__"])(
  "%j is not a method",
  (name) => {
    expect(findMethod(name)).toBeUndefined();
  },
);
