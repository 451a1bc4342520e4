import type { ProtocolVersion, PushTarget, TaskState } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { createMemoryBackend } from "../memory/index.ts";
import { anAgentInfo } from "../../../server/src/cards/an-agent-info.suite.ts";
import { createJsonLogger } from "../logging/logger.ts";
import type { PushRules } from "../run/engine.ts";
import type { Backend, PushRecord } from "../log/backend.ts";
import { createEngine } from "../start-engine.ts";
import type { Call } from "./call.ts";
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  inlinePush,
  listPushConfigs,
} from "./push-configs.ts";

const URL = "https://hooks.test/tasks";

/** Rules that allow everything except one host, and record their calls. */
class NotedRules implements PushRules {
  readonly maxConfigs = 3;
  readonly told: string[] = [];
  readonly records: PushRecord[] = [];

  check(url: string): void {
    if (url.includes("10.0.0.1")) throw new Error('"10.0.0.1" is not a public address');
  }

  changed(record: PushRecord): void {
    this.told.push(`changed ${record.id}`);
    this.records.push(record);
  }

  deleted(taskId: string, id: string): void {
    this.told.push(`deleted ${id} of ${taskId}`);
  }
}

interface World {
  readonly backend: Backend;
  readonly rules: NotedRules;
  /** A call by Ann, who owns the tasks, in 1.0. */
  readonly call: Call;
}

/** A server with push notifications, and a task t1 of Ann whose log has two events. */
async function aWorld(state: TaskState = "working"): Promise<World> {
  return aWorldWith(new NotedRules(), state);
}

/** The same without push notifications. */
async function aWorldWithoutPush(): Promise<World> {
  return aWorldWith(undefined, "working");
}

async function aWorldWith(given: NotedRules | undefined, state: TaskState): Promise<World> {
  const backend = createMemoryBackend();
  const engine = createEngine({
    agent: { info: anAgentInfo(), run: () => Promise.reject(new Error("never run")) as never },
    backend,
    logger: createJsonLogger("silent", () => undefined),
    ...(given && { push: () => given }),
  });
  const rules = given ?? new NotedRules();
  await addTask(backend, "t1", state);
  const caller = { owner: "ann" };
  const call: Call = {
    engine,
    agent: engine.agents.first,
    caller,
    version: "1.0",
    trace: undefined,
    lastEventId: undefined,
  };
  return { backend, rules, call };
}

async function addTask(backend: Backend, taskId: string, state: TaskState): Promise<void> {
  const task = { kind: "task", id: taskId, contextId: "c", status: { state: "submitted" } };
  const update = { kind: "status-update", taskId, contextId: "c", status: { state }, final: false };
  await backend.commit({
    taskId,
    create: { owner: "ann", contextId: "c", agent: "Greeter", createdAt: 1 },
    epoch: 1,
    events: [JSON.stringify(task), JSON.stringify(update)],
    state,
    statusAt: 1,
    listed: true,
  });
}

function create(call: Call, target: Partial<PushTarget> = {}) {
  return createPushConfig({ taskId: "t1", target: { url: URL, ...target } }, call);
}

async function idsOf(call: Call): Promise<readonly string[]> {
  const { configs } = await listPushConfigs({ taskId: "t1" }, call);
  return configs.map(({ id }) => id);
}

function inVersion(call: Call, version: ProtocolVersion): Call {
  return { ...call, version };
}

describe("creating a push config", () => {
  verifies(["R17"], "returns the config as it was given, including secrets", async () => {
    const { call } = await aWorld();
    const target: PushTarget = {
      id: "mine",
      url: URL,
      token: "secret",
      authentication: { schemes: ["Bearer"], credentials: "abc" },
      headers: { "X-A": "b" },
    };

    const created = await createPushConfig({ taskId: "t1", target }, call);

    expect(created).toStrictEqual({ taskId: "t1", ...target });
    expect(await getPushConfig({ taskId: "t1", id: "mine" }, call)).toStrictEqual(created);
    expect(await listPushConfigs({ taskId: "t1" }, call)).toStrictEqual({
      configs: [created],
      nextPageToken: "",
    });
  });

  test("pushes what follows the end of the log", async () => {
    const { call, rules } = await aWorld("working");

    await create(call);

    expect(rules.records).toMatchObject([{ taskId: "t1", owner: "ann", cursor: 2, generation: 1 }]);
  });

  test("of an ended task still pushes its final status", async () => {
    const { call, rules } = await aWorld("completed");

    await create(call);

    expect(rules.records).toMatchObject([{ taskId: "t1", cursor: 1 }]);
  });

  test("stores the wire version that it was sent in, and does not return it", async () => {
    const { call, rules } = await aWorld();

    const shown = await create(inVersion(call, "0.3"), { id: "old" });
    await create(call, { id: "new" });

    expect(rules.records.map(({ config }) => JSON.parse(config))).toStrictEqual([
      { url: URL, id: "old", version: "0.3" },
      { url: URL, id: "new", version: "1.0" },
    ]);
    expect(shown).not.toHaveProperty("version");
  });

  test("without an id uses that of the task, and a second time replaces the first", async () => {
    const { call, rules } = await aWorld();

    const first = await create(call);
    const second = await create(call, { token: "newer" });

    expect(first.id).toBe("t1");
    expect(second).toStrictEqual({ taskId: "t1", id: "t1", url: URL, token: "newer" });
    expect(await idsOf(call)).toEqual(["t1"]);
    expect(rules.told).toEqual(["changed t1", "changed t1"]);
    expect(rules.records[1]?.generation).toBe(2);
  });

  test("beyond the limit is rejected until one is deleted, but replacing is not", async () => {
    const { call, rules } = await aWorld();
    for (const id of ["a", "b", "c"]) await create(call, { id });

    await expect(create(call, { id: "d" })).rejects.toMatchObject({
      reason: "InvalidParams",
      detail: "at most 3 push configs per task; delete one first",
      details: { taskId: "t1", limit: "3" },
    });
    await create(call, { id: "b", token: "newer" });
    await deletePushConfig({ taskId: "t1", id: "a" }, call);
    await create(call, { id: "d" });

    expect(await idsOf(call)).toEqual(["b", "c", "d"]);
    expect(rules.told.slice(3)).toEqual(["changed b", "deleted a of t1", "changed d"]);
  });

  test("never exceeds the limit, however many are created concurrently", async () => {
    const { call, rules } = await aWorld();

    const attempts = Array.from({ length: 10 }, (_, place) => create(call, { id: `c${place}` }));
    const results = await Promise.allSettled(attempts);

    const accepted = results.filter(({ status }) => status === "fulfilled");
    expect(await idsOf(call)).toHaveLength(accepted.length);
    expect(accepted.length).toBeLessThanOrEqual(3);
    expect(rules.told).toHaveLength(accepted.length);
  });

  for (const [version, field] of [
    ["0.3", "pushNotificationConfig.url"],
    ["1.0", "url"],
  ] as const) {
    test(`for a forbidden address names ${field} in ${version}`, async () => {
      const { call, rules } = await aWorld();

      await expect(
        create(inVersion(call, version), { url: "http://10.0.0.1/" }),
      ).rejects.toMatchObject({
        reason: "InvalidParams",
        field,
        detail: `${field} cannot be used: "10.0.0.1" is not a public address`,
      });
      expect(await idsOf(call)).toEqual([]);
      expect(rules.told).toEqual([]);
    });
  }
});

describe("getting a push config", () => {
  test("without an id returns the one that was set without one", async () => {
    const { call } = await aWorld();
    await create(call, { id: "a" });
    await create(call);

    expect(await getPushConfig({ taskId: "t1" }, call)).toMatchObject({ id: "t1" });
  });

  test("without an id returns the first if each was set with one", async () => {
    const { call } = await aWorld();
    await create(call, { id: "b" });
    await create(call, { id: "a" });

    expect(await getPushConfig({ taskId: "t1" }, call)).toMatchObject({ id: "a" });
  });

  test("that does not exist says which", async () => {
    const { call } = await aWorld();

    await expect(getPushConfig({ taskId: "t1" }, call)).rejects.toMatchObject({
      reason: "TaskNotFound",
      detail: "task t1 has no push config",
    });
    await create(call, { id: "a" });
    await expect(getPushConfig({ taskId: "t1", id: "b" }, call)).rejects.toMatchObject({
      reason: "TaskNotFound",
      detail: "task t1 has no push config b",
      details: { taskId: "t1", pushConfigId: "b" },
    });
  });
});

describe("listing push configs", () => {
  test("is paged, and the last page has no token", async () => {
    const { call } = await aWorld();
    for (const id of ["c", "ä", "b"]) await create(call, { id });
    const list = (pageToken?: string) =>
      listPushConfigs({ taskId: "t1", pageSize: 1, ...(pageToken && { pageToken }) }, call);

    const first = await list();
    const second = await list(first.nextPageToken);
    const third = await list(second.nextPageToken);

    const ids = [first, second, third].map(({ configs }) => configs.map(({ id }) => id));
    expect(ids).toEqual([["b"], ["c"], ["ä"]]);
    expect(third.nextPageToken).toBe("");
  });

  test("continues after a config that was deleted in the meantime", async () => {
    const { call } = await aWorld();
    for (const id of ["a", "b", "c"]) await create(call, { id });
    const first = await listPushConfigs({ taskId: "t1", pageSize: 2 }, call);

    await deletePushConfig({ taskId: "t1", id: "b" }, call);
    const second = await listPushConfigs({ taskId: "t1", pageToken: first.nextPageToken }, call);

    expect(second.configs.map(({ id }) => id)).toEqual(["c"]);
  });

  test("of one task returns none of another", async () => {
    const { call, backend } = await aWorld();
    await addTask(backend, "t2", "working");
    await create(call, { id: "a" });

    expect(await listPushConfigs({ taskId: "t2" }, call)).toStrictEqual({
      configs: [],
      nextPageToken: "",
    });
  });

  for (const pageToken of ["%%%", "next", "a", "aGk=", "/w"]) {
    test(`with the token ${pageToken} that no page returned names pageToken`, async () => {
      const { call } = await aWorld();

      await expect(listPushConfigs({ taskId: "t1", pageToken }, call)).rejects.toMatchObject({
        reason: "InvalidParams",
        field: "pageToken",
        detail: "pageToken is not a token of an earlier page",
      });
    });
  }
});

test("deleting a push config works once, and again", async () => {
  const { call, rules } = await aWorld();
  await create(call, { id: "a" });

  await deletePushConfig({ taskId: "t1", id: "a" }, call);
  expect(rules.told).toEqual(["changed a", "deleted a of t1"]);
  await deletePushConfig({ taskId: "t1", id: "a" }, call);
  await deletePushConfig({ taskId: "t1", id: "never" }, call);

  expect(await idsOf(call)).toEqual([]);
});

const OPERATIONS: readonly [what: string, perform: (call: Call) => Promise<unknown>][] = [
  ["creating", (call) => create(call)],
  ["getting", (call) => getPushConfig({ taskId: "t1", id: "a" }, call)],
  ["listing", (call) => listPushConfigs({ taskId: "t1" }, call)],
  ["deleting", (call) => deletePushConfig({ taskId: "t1", id: "a" }, call)],
];

describe.each(OPERATIONS)("%s a push config", (_, perform) => {
  test("of another caller's task finds no task, and changes nothing", async () => {
    const { call, rules } = await aWorld();
    await create(call, { id: "a" });

    await expect(perform({ ...call, caller: { owner: "bob" } })).rejects.toMatchObject({
      reason: "TaskNotFound",
      detail: "there is no task t1",
    });
    expect(await idsOf(call)).toEqual(["a"]);
    expect(rules.told).toEqual(["changed a"]);
  });

  test("is not supported without push notifications", async () => {
    const { call } = await aWorldWithoutPush();

    await expect(perform(call)).rejects.toMatchObject({
      reason: "PushNotificationNotSupported",
      detail: "this agent sends no push notifications",
    });
  });
});

describe("a push config that is sent with a message", () => {
  verifies(["R18"], "is stored for the task and the position that the message gets", async () => {
    const { call } = await aWorld();

    const push = await inlinePush({ url: URL }, inVersion(call, "0.3"), undefined);

    expect(push("t7", 4)).toStrictEqual({
      id: "t7",
      config: JSON.stringify({ url: URL, id: "t7", version: "0.3" }),
      cursor: 4,
    });
  });

  for (const [version, field] of [
    ["0.3", "configuration.pushNotificationConfig.url"],
    ["1.0", "configuration.taskPushNotificationConfig.url"],
  ] as const) {
    test(`for a forbidden address names ${field}`, async () => {
      const { call } = await aWorld();

      const refused = inlinePush({ url: "http://10.0.0.1/" }, inVersion(call, version), undefined);

      await expect(refused).rejects.toMatchObject({ reason: "InvalidParams", field });
    });
  }

  test("is not supported without push notifications", async () => {
    const { call } = await aWorldWithoutPush();

    await expect(inlinePush({ url: URL }, call, undefined)).rejects.toMatchObject({
      reason: "PushNotificationNotSupported",
    });
  });
});
