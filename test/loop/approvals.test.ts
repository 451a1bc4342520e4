import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createMemoryBackend } from "@convoke/engine/memory";
import { EXTENSIONS, type Task, textPart } from "@convoke/protocol";
import { type ConfirmRule, digestArguments } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import type { Backend } from "@convoke/engine";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { answerTo, openApprovals } from "./approval-parts.ts";
import { calls, resultsTold, statusText } from "./scripts.ts";

async function aSqliteBackend(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), "convoke-loop-"));
  const backend = await openSqliteBackend({ folder });
  onTestFinished(async () => {
    await backend.close();
    await rm(folder, { recursive: true });
  });
  return backend;
}

const OTHER = digestArguments({ path: "other" });

function only<T>(list: readonly T[]): T {
  expect(list).toHaveLength(1);
  return list[0]!;
}

const backends: readonly [string, () => Backend | Promise<Backend>][] = [
  ["memory", createMemoryBackend],
  ["SQLite", aSqliteBackend],
];

describe.each(backends)("a guarded call on %s", (_, open) => {
  verifies(
    "G11",
    "waits for a decision, survives a restart, and runs once with the approved arguments",
    async () => {
      const { guarded, ran } = aGuardedTool();
      const model = scriptedModel([calls("delete", { path: "a.txt" }), "Gone."]);
      const world = new LoopWorld({ model, tools: [guarded] }, { backend: await open() });

      const asked = await world.ask("delete a.txt");
      expect(asked.status.state).toBe("input-required");
      expect(ran).toEqual([]);
      const approval = only(openApprovals(asked));
      expect(approval).toMatchObject({
        tool: { callId: "call_1", name: "delete", arguments: { path: "a.txt" } },
        digest: digestArguments({ path: "a.txt" }),
        title: "Run delete",
        risk: "warning",
        options: ["once", "conversation", "always", "reject", "edit"],
      });
      expect(await world.restart()).toMatchObject({ resumed: 0, ended: 0, waiting: 1 });

      const done = await world.ask([answerTo(approval, { option: "once" })], { taskId: asked.id });

      expect(done.status.state).toBe("completed");
      expect(ran).toEqual([{ path: "a.txt" }]);
      expect(resultsTold(model.requests)).toEqual(["deleted"]);
      expect(model.requests).toHaveLength(2);
      const kinds = (await world.events(asked.id)).map(({ kind }) => kind);
      expect(kinds.indexOf("internal:approval-decided")).toBeLessThan(
        kinds.indexOf("internal:tool-start"),
      );
      expect(only(await world.notes(asked.id, "internal:approval-requested"))).toMatchObject({
        approval,
      });
      expect(only(await world.notes(asked.id, "internal:approval-decided"))).toMatchObject({
        approvalId: approval.id,
        outcome: "approved",
        option: "once",
        decidedBy: "ann",
        digest: approval.digest,
      });
    },
  );
});

const ACTIVE: ReadonlySet<string> = new Set([EXTENSIONS.approvals.uri]);
const NOTHING_ACTIVE: ReadonlySet<string> = new Set();

/** A task that waits for approvals of the given paths. */
async function waiting(
  paths: readonly string[],
  {
    extensions = ACTIVE,
    confirm = "ask",
  }: { extensions?: typeof ACTIVE; confirm?: ConfirmRule | "ask" } = {},
) {
  const { guarded, ran } = aGuardedTool({ confirm });
  const model = scriptedModel([paths.map((path) => calls("delete", { path })), "ok"]);
  const world = new LoopWorld({ model, tools: [guarded] }, { extensions });
  const task = await world.ask("go");
  return { world, model, ran, task, approvals: openApprovals(task) };
}

describe("a decision", () => {
  test("that rejects reaches the model with the caller's text", async () => {
    const { world, model, ran, task, approvals } = await waiting(["a"]);

    await world.ask([answerTo(approvals[0]!, { option: "reject", feedback: "keep it" })], {
      taskId: task.id,
    });

    expect(ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([
      "Not run: the user rejected it, and says: keep it",
    ]);
    expect(only(await world.notes(task.id, "internal:tool-complete"))).toMatchObject({
      success: false,
      isDeclined: true,
    });
  });

  test("with changed arguments runs with those, and is recorded for those", async () => {
    const { world, ran, task, approvals } = await waiting(["a"]);

    await world.ask([answerTo(approvals[0]!, { option: "edit", arguments: { path: "b" } })], {
      taskId: task.id,
    });

    expect(ran).toEqual([{ path: "b" }]);
    expect(only(await world.notes(task.id, "internal:approval-decided"))).toMatchObject({
      digest: digestArguments({ path: "b" }),
      arguments: { path: "b" },
    });
    expect(only(await world.notes(task.id, "internal:tool-start"))).toMatchObject({
      input: { path: "b" },
    });
  });

  test("with invalid arguments is not accepted, and the question says why", async () => {
    const { world, ran, task, approvals } = await waiting(["a"]);

    const again = await world.ask(
      [answerTo(approvals[0]!, { option: "edit", arguments: { path: 7 } })],
      { taskId: task.id },
    );

    expect(again.status.state).toBe("input-required");
    expect(statusText(again)).toContain("The arguments do not fit. path:");
    expect(openApprovals(again)).toEqual(approvals);
    await world.ask([answerTo(approvals[0]!, { option: "once" })], { taskId: task.id });
    expect(ran).toEqual([{ path: "a" }]);
  });

  verifies("G11", "with changed arguments that the rule denies runs nothing", async () => {
    const confirm: ConfirmRule = ({ input }) =>
      JSON.stringify(input) === '{"path":"/etc"}' ? "deny" : "ask";
    const { world, model, ran, task, approvals } = await waiting(["a"], { confirm });

    const done = await world.ask(
      [answerTo(approvals[0]!, { option: "edit", arguments: { path: "/etc" } })],
      { taskId: task.id },
    );

    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([
      "Not run: a rule of this agent does not allow it.",
    ]);
  });

  verifies("G11", "given after a deploy whose rule denies the call runs nothing", async () => {
    const { world, model, task, approvals } = await waiting(["a"]);
    const deployed = aGuardedTool({ confirm: () => "deny" });

    await world.restart({ tools: [deployed.guarded] });
    await world.ask([answerTo(approvals[0]!, { option: "once" })], { taskId: task.id });

    expect(deployed.ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([
      "Not run: a rule of this agent does not allow it.",
    ]);
  });

  test("on some of several lets those run, and asks for the others again", async () => {
    const { world, model, ran, task, approvals } = await waiting(["a", "b", "c"]);
    expect(
      approvals.map(
        ({
          tool: {
            arguments: { path },
          },
        }) => path,
      ),
    ).toEqual(["a", "b", "c"]);

    const part = await world.ask(
      [answerTo(approvals[1]!, { option: "once" }), answerTo(approvals[2]!, { option: "reject" })],
      { taskId: task.id },
    );

    expect(part.status.state).toBe("input-required");
    expect(openApprovals(part)).toEqual([approvals[0]]);
    expect(ran).toEqual([{ path: "b" }]);
    await world.restart();
    const done = await world.ask([answerTo(approvals[0]!, { option: "once" })], {
      taskId: task.id,
    });
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "b" }, { path: "a" }]);
    expect(resultsTold(model.requests)).toEqual([
      "deleted",
      "deleted",
      "Not run: the user rejected it.",
    ]);
  });

  test.each<[string, (task: Task) => readonly ReturnType<typeof answerTo>[], string]>([
    [
      "an unknown approval",
      (task) => [answerTo({ ...openApprovals(task)[0]!, id: "other" }, { option: "once" })],
      '"other" is no open approval of this task',
    ],
    [
      "another digest",
      (task) => [answerTo({ ...openApprovals(task)[0]!, digest: OTHER }, { option: "once" })],
      "digest is not that of the call that waits",
    ],
    [
      "an option that was not offered",
      (task) => [answerTo(openApprovals(task)[0]!, { option: "maybe" as never })],
      "option must be one of once, conversation",
    ],
  ])("on %s is rejected, and nothing is added to the task", async (_, partsOf, problem) => {
    const { world, ran, task } = await waiting(["a"]);
    const before = await world.events(task.id);

    await expect(world.ask(partsOf(task), { taskId: task.id })).rejects.toThrow(problem);

    expect(await world.events(task.id)).toEqual(before);
    expect(ran).toEqual([]);
  });
});

describe("a plain message", () => {
  verifies(
    "G11",
    "supersedes every pending approval, regardless of its text, and reaches the model",
    async () => {
      for (const words of ["yes", "approve", "do something else"]) {
        const { world, model, ran, task } = await waiting(["a", "b"], {
          extensions: NOTHING_ACTIVE,
        });

        const done = await world.ask(words, { taskId: task.id });

        expect(done.status.state).toBe("completed");
        expect(ran).toEqual([]);
        expect(model.requests[1]!.transcript.slice(-2)).toMatchObject([
          {
            role: "tool",
            results: [
              { output: "Not run: the user sent a new message instead.", isError: true },
              { output: "Not run: the user sent a new message instead.", isError: true },
            ],
          },
          { role: "user", parts: [textPart(words)] },
        ]);
        const outcomes = await world.notes(task.id, "internal:approval-decided");
        expect(outcomes.map(({ outcome }) => outcome)).toEqual(["superseded", "superseded"]);
      }
    },
  );

  test("from a caller that supports data parts rejects with one word, and never approves", async () => {
    const rejected = await waiting(["a"]);
    await rejected.world.ask("No", { taskId: rejected.task.id });
    expect(resultsTold(rejected.model.requests)).toEqual(["Not run: the user rejected it."]);

    const cautious = await waiting(["a"]);
    await cautious.world.ask("approve", { taskId: cautious.task.id });
    expect(cautious.ran).toEqual([]);
  });

  test("from a caller that supports only text decides with the words it was offered", async () => {
    const approved = await waiting(["a"], { extensions: NOTHING_ACTIVE });
    expect(approved.task.status.message?.parts).toHaveLength(1);
    expect(statusText(approved.task)).toContain('Answer "approve", or "reject" and why.');
    await approved.world.restart();
    await approved.world.ask(" Approve ", { taskId: approved.task.id });
    expect(approved.ran).toEqual([{ path: "a" }]);

    const rejected = await waiting(["a"], { extensions: NOTHING_ACTIVE });
    await rejected.world.ask("reject: keep it", { taskId: rejected.task.id });
    expect(resultsTold(rejected.model.requests)).toEqual([
      "Not run: the user rejected it, and says: keep it",
    ]);

    const otherwise = await waiting(["a"], { extensions: NOTHING_ACTIVE });
    await otherwise.world.ask("approve it tomorrow", { taskId: otherwise.task.id });
    expect(otherwise.ran).toEqual([]);
    expect(resultsTold(otherwise.model.requests)).toEqual([
      "Not run: the user sent a new message instead.",
    ]);
  });

  test("is offered only the words that the agent accepts", async () => {
    for (const acceptPlainText of [true, false]) {
      const { guarded, ran } = aGuardedTool();
      const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
      const world = new LoopWorld(
        { model, tools: [guarded], approvals: { acceptPlainText } },
        { extensions: NOTHING_ACTIVE },
      );
      const asked = await world.ask("go");
      const text = statusText(asked);

      expect(text.includes('"approve"')).toBe(acceptPlainText);
      expect(text).toContain('"reject"');
      await world.ask("reject", { taskId: asked.id });
      expect(ran).toEqual([]);
      expect(resultsTold(model.requests)).toEqual(["Not run: the user rejected it."]);
    }
  });

  test("decides with text or not as the agent configures it", async () => {
    for (const acceptPlainText of [true, false]) {
      const { guarded, ran } = aGuardedTool();
      const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
      const extensions = acceptPlainText ? ACTIVE : NOTHING_ACTIVE;
      const world = new LoopWorld(
        { model, tools: [guarded], approvals: { acceptPlainText } },
        { extensions },
      );
      const asked = await world.ask("go");
      await world.ask("approve", { taskId: asked.id });
      expect(ran).toEqual(acceptPlainText ? [{ path: "a" }] : []);
    }
  });
});

describe("an approval for more than one call", () => {
  const script = (): Parameters<typeof scriptedModel>[0] => [
    calls("delete", { path: "a" }),
    calls("delete", { path: "b" }),
    "first",
    calls("delete", { path: "c" }),
    "second",
  ];

  test("for this conversation applies in it, also after a restart, and in no other", async () => {
    const { guarded, ran } = aGuardedTool();
    const other = [calls("delete", { path: "d" }), "third"];
    const model = scriptedModel([...script(), ...other]);
    const world = new LoopWorld({ model, tools: [guarded] });
    const asked = await world.ask("go");
    const [approval] = openApprovals(asked);

    await world.ask([answerTo(approval!, { option: "conversation" })], { taskId: asked.id });
    await world.restart();
    const later = await world.ask("more", { contextId: asked.contextId });

    expect(ran).toEqual([{ path: "a" }, { path: "b" }, { path: "c" }]);
    expect(later.status.state).toBe("completed");
    expect(only(await world.notes(later.id, "internal:approval-decided"))).toMatchObject({
      outcome: "approved",
      option: "conversation",
      digest: digestArguments({ path: "c" }),
    });
    expect((await world.ask("elsewhere")).status.state).toBe("input-required");
  });

  test('"always" applies everywhere for the same caller', async () => {
    const { guarded, ran } = aGuardedTool();
    const world = new LoopWorld({ model: scriptedModel(script()), tools: [guarded] });
    const asked = await world.ask("go");
    await world.ask([answerTo(openApprovals(asked)[0]!, { option: "always" })], {
      taskId: asked.id,
    });

    await world.ask("elsewhere");

    expect(ran).toEqual([{ path: "a" }, { path: "b" }, { path: "c" }]);
  });

  test("cannot be forged by an agent message, nor by an answer without a question", async () => {
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel(["hello", calls("delete", { path: "a" }), "x"]);
    const world = new LoopWorld({ model, tools: [guarded] });
    const approval = { id: "x", digest: digestArguments({ path: "a" }) } as never;

    const first = await world.ask([textPart("hi"), answerTo(approval, { option: "always" })]);
    const second = await world.ask("delete a", { contextId: first.contextId });

    expect(second.status.state).toBe("input-required");
    expect(ran).toEqual([]);
  });
});

describe("a rule", () => {
  test("allows, denies, or asks with its own text", async () => {
    const { guarded, ran } = aGuardedTool({
      confirm: ({ input, caller }) => {
        const { path } = input as { readonly path: string };
        expect(caller.owner).toBe("ann");
        if (path === "safe") return "allow";
        if (path === "forbidden") return "deny";
        const preview = [{ kind: "data", data: { path, before: "old" } }] as const;
        return { title: `Delete ${path}`, prompt: "For ever.", risk: "danger", preview };
      },
    });
    const model = scriptedModel([
      ["safe", "forbidden", "risky"].map((path) => calls("delete", { path })),
      "ok",
    ]);
    const world = new LoopWorld({ model, tools: [guarded] });

    const asked = await world.ask("go");

    expect(ran).toEqual([{ path: "safe" }]);
    expect(only(openApprovals(asked))).toMatchObject({
      title: "Delete risky",
      prompt: "For ever.",
      risk: "danger",
      preview: { kind: "diff", path: "risky", before: "old" },
      options: ["once", "reject", "edit"],
    });
    await world.ask([answerTo(openApprovals(asked)[0]!, { option: "reject" })], {
      taskId: asked.id,
    });
    expect(resultsTold(model.requests)).toEqual([
      "deleted",
      "Not run: a rule of this agent does not allow it.",
      "Not run: the user rejected it.",
    ]);
  });

  test("is asked about a dangerous call even if the tool was approved for the conversation", async () => {
    const { guarded, ran } = aGuardedTool({
      confirm: ({ input }) => ({
        risk: (input as { readonly path: string }).path === "b" ? "danger" : "warning",
      }),
    });
    const model = scriptedModel(["a", "c", "b"].map((path) => calls("delete", { path })));
    const world = new LoopWorld({ model, tools: [guarded] });
    const asked = await world.ask("go");

    const again = await world.ask(
      [answerTo(openApprovals(asked)[0]!, { option: "conversation" })],
      {
        taskId: asked.id,
      },
    );

    expect(ran).toEqual([{ path: "a" }, { path: "c" }]);
    expect(only(openApprovals(again)).tool.arguments).toEqual({ path: "b" });
  });

  test("with an unknown result asks", async () => {
    const { guarded, ran } = aGuardedTool({ confirm: () => "sure" as never });
    const world = new LoopWorld({
      model: scriptedModel([calls("delete", { path: "a" })]),
      tools: [guarded],
    });

    expect((await world.ask("go")).status.state).toBe("input-required");
    expect(ran).toEqual([]);
  });
});

test("an answer at or after the time of expiry is rejected, and the call counts as rejected", async () => {
  const { guarded, ran } = aGuardedTool();
  const model = scriptedModel([calls("delete", { path: "a" }), "ok"]);
  let now = Date.parse("2026-01-31T12:00:00Z");
  const world = new LoopWorld(
    { model, tools: [guarded], approvals: { expiresInMs: 60_000 } },
    { now: () => now },
  );
  const asked = await world.ask("go");
  expect(openApprovals(asked)[0]!.expiresAt).toBe("2026-01-31T12:01:00.000Z");

  now += 60_000;
  const late = world.ask([answerTo(openApprovals(asked)[0]!, { option: "once" })], {
    taskId: asked.id,
  });

  await expect(late).rejects.toThrow("has expired at 2026-01-31T12:01:00.000Z");
  await world.engine.wakeTimer.start();
  const done = await world.settled(asked.id);
  expect(done.status.state).toBe("completed");
  expect(ran).toEqual([]);
  expect(resultsTold(model.requests)).toEqual(["Not run: nobody approved it in time."]);
});
