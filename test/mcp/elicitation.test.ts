import { expect, test } from "vitest";
import { aNotebook } from "./a-notebook.ts";
import { type Called, World, ours } from "./a-world.ts";
import { eventually } from "./eventually.ts";
import { expectNoLeftovers, markedProcesses } from "./marked-processes.ts";

expectNoLeftovers();

function questionOf({ outcome }: Called): { readonly requestId: string; readonly prompt: string } {
  if (outcome.kind !== "interrupts") throw new Error(JSON.stringify(outcome));
  const [asked] = outcome.interrupts;
  if (asked?.kind !== "interrupt:input") throw new Error(JSON.stringify(outcome));
  return asked;
}

test("an answer is passed to the waiting call, which is not repeated", async () => {
  const { notes, read } = await aNotebook();
  const world = new World({ helpful: ours("helpful-server", [], { NOTES: notes }) });

  const asked = questionOf(await world.call("helpful__greet", {}, { toolCallId: "one" }));
  const value = await world.result(
    "helpful__greet",
    {},
    {
      toolCallId: "one",
      answers: { [asked.requestId]: "Ann" },
    },
  );

  expect(asked.prompt).toContain("The MCP server helpful asks: What is your name?");
  expect(value).toBe("Hello, Ann!");
  expect(await read()).toBe("greets\n");
});

test("an invalid answer is asked for again, with the reason", async () => {
  const world = new World({ helpful: ours("helpful-server") });
  const call = (answers = {}): Promise<Called> =>
    world.call("helpful__greet", {}, { toolCallId: "one", answers });

  const { requestId } = questionOf(await call());
  const again = questionOf(await call({ [requestId]: "A" }));

  expect(again.requestId).toBe(requestId);
  expect(again.prompt).toMatch(/^The answer does not fit: name: /);
  expect((await call({ [requestId]: "Ann" })).outcome).toMatchObject({ value: "Hello, Ann!" });
});

test("a user who declines is reported to the server", async () => {
  const world = new World({ helpful: ours("helpful-server") });
  const { requestId } = questionOf(await world.call("helpful__greet", {}, { toolCallId: "one" }));

  const value = await world.result(
    "helpful__greet",
    {},
    {
      toolCallId: "one",
      answers: { [requestId]: "decline" },
    },
  );

  expect(value).toBe("It was a decline.");
});

test.each([["initialize"], ["new"]])(
  "a yes or no is a choice, in the revision %s",
  async (revision) => {
    const world = new World({ helpful: ours("helpful-server", [revision]) });

    const { outcome } = await world.call("helpful__deploy", {}, { toolCallId: "one" });

    expect(outcome).toMatchObject({ interrupts: [{ options: ["yes", "no", "decline"] }] });
    const { requestId } = questionOf({ outcome, events: [] });
    const value = await world.result(
      "helpful__deploy",
      {},
      {
        toolCallId: "one",
        answers: { [requestId]: "yes" },
      },
    );
    expect(value).toBe("deployed");
  },
);

test("after a crash a repeatable call is made again, and gets the answer that was given", async () => {
  const { notes, read } = await aNotebook();
  const helpful = ours("helpful-server", [], { NOTES: notes, READS: "yes" });
  const before = new World({ helpful });
  const { requestId } = questionOf(await before.call("helpful__greet", {}, { toolCallId: "one" }));
  await before.servers.close();

  const value = await new World({ helpful }).result(
    "helpful__greet",
    {},
    {
      toolCallId: "one",
      answers: { [requestId]: "Ann" },
    },
  );

  expect(value).toBe("Hello, Ann!");
  expect(await read()).toBe("greets\ngreets\n");
});

test("after a crash the outcome of a call that may not be repeated is reported as unknown", async () => {
  const { notes, read } = await aNotebook();
  const helpful = ours("helpful-server", [], { NOTES: notes });
  const before = new World({ helpful });
  const { requestId } = questionOf(await before.call("helpful__greet", {}, { toolCallId: "one" }));
  await before.servers.close();

  const { outcome } = await new World({ helpful }).call(
    "helpful__greet",
    {},
    {
      toolCallId: "one",
      answers: { [requestId]: "Ann" },
    },
  );

  expect(outcome).toMatchObject({
    kind: "error",
    text: expect.stringContaining("Unknown: the call was cut while it waited") as string,
  });
  expect(await read()).toBe("greets\n");
});

test("a question that could belong to two tasks is shown to neither", async () => {
  const { notes, read } = await aNotebook();
  const world = new World({ helpful: ours("helpful-server", [], { NOTES: notes }) });
  const stop = new AbortController();
  const other = world.call(
    "helpful__sleep",
    { ms: 60_000 },
    { taskId: "ben", signal: stop.signal },
  );
  await eventually(async () => expect(await read()).toBe("sleeps\n"));

  const { outcome } = await world.call("helpful__greet", {}, { taskId: "ann" });

  expect(outcome).toMatchObject({
    kind: "error",
    text: expect.stringContaining("it is not clear for which call this is asked") as string,
  });
  stop.abort(new Error("enough"));
  await expect(other).rejects.toThrow("enough");
});

test("a call that waits for an answer does not block others", async () => {
  const world = new World({ helpful: ours("helpful-server") });
  const ann = questionOf(
    await world.call("helpful__greet", {}, { taskId: "ann", toolCallId: "one" }),
  );

  const ben = questionOf(
    await world.call("helpful__greet", {}, { taskId: "ben", toolCallId: "one" }),
  );

  const answered = (taskId: string, answers: Readonly<Record<string, string>>): Promise<unknown> =>
    world.result("helpful__greet", {}, { taskId, toolCallId: "one", answers });
  expect(await answered("ben", { [ben.requestId]: "Ben" })).toBe("Hello, Ben!");
  expect(await answered("ann", { [ann.requestId]: "Ann" })).toBe("Hello, Ann!");
});

test("a call that had to connect the server first does not get the questions of others", async () => {
  const world = new World({ helpful: ours("helpful-server") });
  const greet = await world.find("helpful__greet");
  process.kill(markedProcesses()[0]!, "SIGKILL");
  await eventually(() => expect(world.servers.report()[0]?.status).toBe("disconnected"));

  const ann = questionOf(await world.run(greet, {}, { taskId: "ann", toolCallId: "one" }));
  const ben = questionOf(await world.run(greet, {}, { taskId: "ben", toolCallId: "one" }));

  const answers = { [ben.requestId]: "Ben" };
  const { outcome } = await world.run(greet, {}, { taskId: "ben", toolCallId: "one", answers });
  expect(outcome).toEqual({ kind: "result", value: "Hello, Ben!" });
  expect(ann.requestId).toBe(ben.requestId);
});

test.each([
  ["the task is over", (world: World) => world.servers.endTask("ann"), {}],
  ["nobody answers in time", () => undefined, { answerTimeoutMs: 200 }],
])("a waiting call is given up when %s", async (_, end, options) => {
  const world = new World({ helpful: ours("helpful-server") }, options);
  const { requestId } = questionOf(
    await world.call("helpful__greet", {}, { taskId: "ann", toolCallId: "one" }),
  );

  end(world);
  await new Promise((resolve) => setTimeout(resolve, 300));

  const { outcome } = await world.call(
    "helpful__greet",
    {},
    {
      taskId: "ann",
      toolCallId: "one",
      answers: { [requestId]: "Ann" },
    },
  );
  expect(outcome).toMatchObject({
    kind: "error",
    text: expect.stringContaining("Unknown") as string,
  });
});

test("a server that dies while the user decides fails the call when the answer arrives", async () => {
  const world = new World({ helpful: ours("helpful-server") });
  const { requestId } = questionOf(await world.call("helpful__greet", {}, { toolCallId: "one" }));

  process.kill(markedProcesses()[0]!, "SIGKILL");
  await eventually(() => expect(world.servers.report()[0]?.status).toBe("disconnected"));

  const { outcome } = await world.call(
    "helpful__greet",
    {},
    {
      toolCallId: "one",
      answers: { [requestId]: "Ann" },
    },
  );
  expect(outcome).toMatchObject({
    kind: "error",
    text: expect.stringContaining("it was ended by SIGKILL") as string,
  });
});
