import type { ListTasksRequest } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { anAgentInfo } from "../an-agent-info.suite.ts";
import { createJsonLogger } from "../logger.ts";
import type { Backend, TaskQuery, TaskRecord } from "../tasks/backend.ts";
import { Engine } from "../tasks/engine.ts";
import type { Call } from "./call.ts";
import { listTasks } from "./list-tasks.ts";

/** A store of nothing but records: their logs hold the task alone. */
function aCall(records: readonly TaskRecord[] = []): Call & { readonly asked: TaskQuery[] } {
  const asked: TaskQuery[] = [];
  const backend: Pick<Backend, "read"> & { tasks: Pick<Backend["tasks"], "get" | "list"> } = {
    read: async (taskId, after) => {
      const task = { kind: "task", id: taskId, contextId: "c", status: { state: "completed" } };
      return after === 0 ? [{ seq: 1, json: JSON.stringify(task) }] : [];
    },
    tasks: {
      get: async (taskId) => records.find((record) => record.taskId === taskId),
      list: async (query) => {
        asked.push(query);
        const start = records.findIndex(({ taskId }) => taskId === query.after?.taskId) + 1;
        return { records: records.slice(start, start + query.limit), total: records.length };
      },
    },
  };
  const engine = new Engine({
    agent: { info: anAgentInfo(), run: () => Promise.reject(new Error("never run")) as never },
    backend: backend as Backend,
    logger: createJsonLogger("silent", () => undefined),
  });
  const caller = { owner: "ann" };
  return { engine, caller, version: "1.0", trace: undefined, lastEventId: undefined, asked };
}

function aRecord(taskId: string, statusAt: number): TaskRecord {
  return {
    taskId,
    owner: "ann",
    contextId: "c",
    agent: "Greeter",
    epoch: 1,
    head: 1,
    state: "completed",
    statusAt,
    createdAt: statusAt,
    listed: true,
  };
}

function aQuery(overrides: Partial<ListTasksRequest> = {}): ListTasksRequest {
  return { pageSize: 2, includeArtifacts: false, ...overrides };
}

test("a page ends with a token that leads to the next, the last one with none", async () => {
  const call = aCall([aRecord("t3", 30), aRecord("t2", 20), aRecord("t1", 20)]);

  const first = await listTasks(aQuery(), call);
  const second = await listTasks(aQuery({ pageToken: first.nextPageToken }), call);

  expect(first.tasks.map(({ id }) => id)).toEqual(["t3", "t2"]);
  expect(second.tasks.map(({ id }) => id)).toEqual(["t1"]);
  expect(second).toMatchObject({ nextPageToken: "", pageSize: 2, totalSize: 3 });
  expect(call.asked[1]?.after).toEqual({ statusAt: 20, taskId: "t2" });
});

test("a page that ends exactly at the last task has no token", async () => {
  const page = await listTasks(aQuery(), aCall([aRecord("t2", 20), aRecord("t1", 10)]));

  expect(page.nextPageToken).toBe("");
});

describe("a token that no page gave", () => {
  const encoded = (text: string) => Buffer.from(text).toString("base64url");

  for (const [what, pageToken] of [
    ["garbage", "%%%"],
    ["a word", "next"],
    ["a number", "2"],
    ["nothing in particular", encoded("hello")],
    ["a place without a task", encoded("20 ")],
    ["a place without a time", encoded("t2")],
    ["a time that is no number", encoded("soon t2")],
    ["a negative time", encoded("-20 t2")],
    ["a place of three words", encoded("20 t2 t3")],
    ["a place on two lines", encoded("20 t2\n")],
    ["random bytes", Buffer.from([0xff, 0x00, 0x80, 0x20]).toString("base64url")],
  ] as const) {
    test(`${what} is invalid, and the error names pageToken`, async () => {
      const call = aCall([aRecord("t1", 10)]);

      await expect(listTasks(aQuery({ pageToken }), call)).rejects.toMatchObject({
        reason: "InvalidParams",
        field: "pageToken",
        detail: "pageToken is not a token of an earlier page",
      });
      expect(call.asked).toEqual([]);
    });
  }
});
