import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  aMessage,
  aStatusUpdate,
  aTask,
  modelOf,
  overTheWire,
} from "../../testing/arbitraries.suite.ts";
import { codecV1 } from "./codec.ts";

describe("a stream of 1.0", () => {
  test("an event is an object with exactly one member that says what it is", () => {
    fc.assert(
      fc.property(modelOf("1.0").event, (event) => {
        const members = Object.keys(JSON.parse(codecV1.eventText(event, "")) as object);

        expect(members).toEqual([
          {
            task: "task",
            message: "message",
            "status-update": "statusUpdate",
            "artifact-update": "artifactUpdate",
          }[event.kind],
        ]);
      }),
    );
  });

  test("a status says neither kind nor final, and final follows from the state when it is read", () => {
    const event = aStatusUpdate("input-required");

    const wire = JSON.parse(codecV1.eventText(event, ""));

    expect(wire).toEqual({
      statusUpdate: {
        taskId: "t1",
        contextId: "c1",
        status: { state: "TASK_STATE_INPUT_REQUIRED" },
      },
    });
    expect(codecV1.decodeEvent(wire)).toEqual(event);
  });
});

describe("a list of tasks", () => {
  test("a list is asked for as it was meant", () => {
    fc.assert(
      fc.property(modelOf("1.0").listTasks, (request) => {
        const wire = overTheWire(codecV1.encodeListTasks(request));

        expect(codecV1.decodeListTasks(wire)).toStrictEqual(request);
      }),
    );
  });

  test("a page arrives as it was sent", () => {
    fc.assert(
      fc.property(modelOf("1.0").taskPage, (page) => {
        const wire = overTheWire(codecV1.encodeTaskPage(page, true));

        const tasks = page.tasks.map((task) => ({ ...task, artifacts: task.artifacts ?? [] }));
        expect(codecV1.decodeTaskPage(wire)).toStrictEqual({ ...page, tasks });
      }),
    );
  });

  test("a page has artifacts when they were asked for, even if there are none, and else never", () => {
    const artifacts = [{ artifactId: "a1", parts: [{ kind: "text" as const, text: "hi" }] }];
    const page = {
      tasks: [aTask(), aTask({ artifacts })],
      nextPageToken: "",
      pageSize: 2,
      totalSize: 2,
    };

    const [bare, rich] = tasksOf(codecV1.encodeTaskPage(page, true));
    const [bareWithout, richWithout] = tasksOf(codecV1.encodeTaskPage(page, false));

    expect(bare).toHaveProperty("artifacts", []);
    expect(rich).toHaveProperty("artifacts.0.parts.0.text", "hi");
    expect(bareWithout).not.toHaveProperty("artifacts");
    expect(richWithout).not.toHaveProperty("artifacts");
  });

  test("a page always says all four of its fields", () => {
    const page = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };

    expect(codecV1.encodeTaskPage(page, false)).toEqual(page);
    expect(codecV1.decodeTaskPage({})).toEqual({ ...page, pageSize: 0 });
  });

  test("a list without wishes has fifty tasks to a page and no artifacts", () => {
    const usual = { pageSize: 50, includeArtifacts: false };

    expect(codecV1.decodeListTasks(undefined)).toEqual(usual);
    expect(codecV1.decodeListTasks({})).toEqual(usual);
    expect(
      codecV1.decodeListTasks({
        status: "TASK_STATE_UNSPECIFIED",
        contextId: "",
        pageToken: "",
        statusTimestampAfter: "",
      }),
    ).toEqual(usual);
  });

  test("a time in another zone is the same time in UTC", () => {
    const request = codecV1.decodeListTasks({ statusTimestampAfter: "2026-01-31T13:00:00+01:00" });

    expect(request.statusTimestampAfter).toBe("2026-01-31T12:00:00.000Z");
  });
});

test("an answer to a send is a task or a message and nothing else", () => {
  expect(codecV1.encodeSendResult(aTask())).toHaveProperty("task.id", "t1");
  expect(codecV1.encodeSendResult(aMessage())).toHaveProperty("message.messageId", "m1");
  expect(() =>
    codecV1.decodeSendResult(JSON.parse(codecV1.eventText(aStatusUpdate("working"), ""))),
  ).toThrow(expect.objectContaining({ reason: "InvalidAgentResponse" }));
});

function tasksOf(page: unknown): readonly object[] {
  return (page as { tasks: readonly object[] }).tasks;
}
