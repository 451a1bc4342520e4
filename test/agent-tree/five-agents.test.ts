import type { SendOptions } from "@convoke/client";
import { type A2APart, type Task, isPublic, readBudgetReport, textOf } from "@convoke/protocol";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { statusText } from "../loop/scripts.ts";
import { succeed } from "../harness/program.ts";
import { verifies } from "../verifies.ts";
import { Tree } from "./a-tree.ts";
import { TOKENS_OF_ANSWER } from "./obedient-model.ts";
import { messageFor, through } from "./work.ts";

/** After this long without progress there will be none. */
const QUIET_MS = 500;
const NAMES = ["a", "b", "c", "d", "e"];
const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

const TRACE = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const SECRET = "canary-7f3a";

let tree: Tree;
/** The tasks of the approval, one of each agent. */
let tracedTaskIds: readonly string[] = [];
// Five processes one after the other: minutes on a busy machine.
beforeAll(async () => {
  tree = await Tree.start(NAMES);
}, 120_000);
afterAll(() => tree[Symbol.asyncDispose]());

/** The message to the root that makes the leaf call a tool. */
function leafCalls(id: string, tool: string, input: object = {}): string {
  return messageFor(through(NAMES.slice(1), { id, rounds: [[{ tool, input }]] }));
}

/** Resolves to the task of the root when it is in that state. */
async function until(state: string, taskId: string): Promise<Task> {
  const remote = await tree.root.client();
  const find = (): Promise<Task> => remote.get(taskId);
  await expect
    .poll(async () => (await find()).status.state, { timeout: 20_000, interval: 20 })
    .toBe(state);
  return find();
}

/** Sends a message to the root, and returns its task when that has ended or asks. */
async function send(
  content: string | readonly A2APart[],
  options: SendOptions = {},
): Promise<Task> {
  const { task } = await (await tree.root.client()).send(content, options);
  return task!;
}

function answer(
  { id: taskId, contextId }: Task,
  content: string | readonly A2APart[],
  options: SendOptions = {},
): Promise<Task> {
  return send(content, { ...options, taskId, contextId });
}

/** What was actually deleted. */
function deleted(): readonly unknown[] {
  const runs = tree.leaf.notes.filter(({ name }) => name === "delete");
  return runs.map(({ input }) => (input as { readonly path: string }).path);
}

/** The contents of all files of all agents, and of their logs. */
function leftBehind(): string {
  const files = tree.agents.flatMap(({ folder }) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1")),
  );
  return [...files, ...tree.agents.map(({ complaints }) => complaints)].join("\n");
}

describe("what the fifth of five agents asks for, after each of them was killed", () => {
  let approvalTask: Task;
  let questionTask: Task;
  let secretTask: Task;
  beforeAll(async () => {
    approvalTask = await send(leafCalls("w1", "delete", { path: "w1" }), { trace: TRACE });
    questionTask = await send(leafCalls("w2", "choose"));
    secretTask = await send(leafCalls("w3", "login"));
    for (const agent of tree.agents) await agent.restart();
  }, 120_000);

  verifies(
    ["R65", "R113", "R124", "G11"],
    "is an approval that the first requests",
    async () => {
      const [approval] = openApprovals(approvalTask);
      expect(approval?.tool).toMatchObject({ name: "delete", arguments: { path: "w1" } });
      expect(approval?.from?.map(({ name }) => name)).toEqual(["b", "c", "d", "e"]);
      expect(statusText(approvalTask)).toMatch(/^Approve for b › c › d › e: Run delete\?/);
      const listed = await fetch(new URL("/convoke/approvals", tree.root.address));
      expect(await listed.json()).toMatchObject({
        approvals: [{ id: approval?.id, tool: "delete", from: approval?.from }],
      });
      const args = [CONVOKE, "approvals", "list", tree.root.address];
      const table = await succeed(process.execPath, args, { cwd: tree.root.folder });
      expect(table).toContain(approval?.id);

      const still = await until("input-required", approvalTask.id);
      expect(openApprovals(still)).toEqual([approval]);
      const done = await answer(still, [answerTo(approval!, { option: "once" })], { trace: TRACE });

      expect(done.status.state).toBe("completed");
      expect(textOf(done)).toBe("a heard: b heard: c heard: d heard: e heard: deleted w1");
      expect(deleted().filter((path) => path === "w1")).toHaveLength(1);
      const tasks = await tree.tasksOf(approvalTask.id);
      expect(tasks.map((own) => own.length)).toEqual([1, 1, 1, 1, 1]);
      tracedTaskIds = tasks.map((own) => own[0]!.id);
      const asked = tree.agents.map(
        ({ notes }) => notes.filter(({ work }) => work === "w1").length,
      );
      expect(asked).toEqual([2, 2, 2, 2, 2]);
      expect(readBudgetReport(done.metadata)?.used).toMatchObject({
        tokens: 10 * TOKENS_OF_ANSWER,
        calls: 4,
      });
    },
    60_000,
  );

  test("is a question that is answered at the first", async () => {
    expect(statusText(questionTask)).toBe(
      "b asks: c asks: d asks: e asks: Which colour? (red / blue)",
    );

    const done = await answer(await until("input-required", questionTask.id), "blue");

    expect(textOf(done)).toBe("a heard: b heard: c heard: d heard: e heard: blue");
    expect((await tree.tasksOf(questionTask.id)).map((own) => own.length)).toEqual([1, 1, 1, 1, 1]);
  }, 60_000);

  test("is a secret that is answered at the first", async () => {
    expect(statusText(secretTask)).toContain("Password?");

    const done = await answer(await until("input-required", secretTask.id), SECRET);

    expect(textOf(done)).toMatch(/e heard: logged in with /);
  });
});

describe("canceling the first of five agents", () => {
  let before: readonly unknown[];
  beforeEach(() => {
    before = deleted();
  });

  /** Asserts that all five are canceled and do nothing any more. */
  async function allCanceled(taskId: string): Promise<void> {
    const states = (): Promise<readonly string[]> => tree.statesOf(taskId);
    const all = NAMES.map(() => "canceled");
    await expect.poll(states, { timeout: 20_000, interval: 20 }).toEqual(all);
    const { counts } = tree;
    await sleep(QUIET_MS);
    expect(tree.counts).toEqual(counts);
    expect(deleted()).toEqual(before);
  }

  async function waiting(id: string): Promise<Task> {
    const task = await send(leafCalls(id, "delete", { path: id }));
    expect(task.status.state).toBe("input-required");
    return task;
  }

  /** The root's task while the model of the leaf is working. */
  async function thinking(id: string): Promise<Task> {
    const work = through(NAMES.slice(1), { id, rounds: [], isSilent: true });
    const { task } = await (await tree.root.client()).send(messageFor(work), { wait: false });
    const begun = (): readonly unknown[] => tree.leaf.notes.filter((note) => note.work === id);
    await expect.poll(begun, { timeout: 20_000, interval: 20 }).toHaveLength(1);
    return task!;
  }

  async function cancel({ id }: Task): Promise<void> {
    await (await tree.root.client()).cancel(id);
  }

  verifies("G10", "while the last waits for an approval cancels all of them", async () => {
    const task = await waiting("w4");

    await cancel(task);

    await allCanceled(task.id);
  });

  verifies("G10", "while the model of the last works stops that, too", async () => {
    const task = await thinking("w5");

    await cancel(task);

    await allCanceled(task.id);
    const stopped = tree.leaf.notes.filter(({ what, work }) => what === "stopped" && work === "w5");
    expect(stopped).toHaveLength(1);
  });

  test.each(["waits for an approval", "works"])(
    "reaches the last, which %s, even if one in between was killed before",
    async (what) => {
      const id = `w6 ${what}`;
      const task = what === "works" ? await thinking(id) : await waiting(id);
      await tree.get("c").restart();

      await cancel(task);

      await allCanceled(task.id);
    },
  );

  verifies(
    "G10",
    "reaches one that was down, through one that was killed in the meantime",
    async () => {
      const task = await waiting("w7");
      await tree.get("d").kill();

      await cancel(task);
      await expect
        .poll(async () => (await tree.get("c").tasksFor((await second(task)).id))[0]?.status.state)
        .toBe("canceled");
      await tree.get("c").restart();
      await tree.get("d").start();

      await allCanceled(task.id);
    },
  );

  async function second({ id }: Task): Promise<Task> {
    const [task] = await tree.get("b").tasksFor(id);
    return task!;
  }
});

// Last, because it ends all processes.
describe("the data that five agents store", () => {
  beforeAll(() => Promise.all(tree.agents.map((agent) => agent.kill())));

  verifies("R124", "has the trace of the root in every public event", async () => {
    const stored = await Promise.all(tree.agents.map((one) => one.stored()));

    for (const [place, own] of stored.entries()) {
      const { log } = own.find(({ record }) => record.taskId === tracedTaskIds[place])!;
      const shown = log.map(({ event }) => event).filter((event) => isPublic(event));
      const traces = shown.map(({ metadata }) => metadata?.["traceId"]);
      expect([...new Set(traces)]).toEqual([TRACE.traceId]);
    }
  });

  verifies("R60", "has a sensitive answer in no file of any process", () => {
    const left = leftBehind();

    expect(left).toContain("Password?");
    expect(left).not.toContain(SECRET);
  });
});
