import type { ProcessAgentOptions } from "convoke";
import { expect, test } from "vitest";
import { acpOptions, isRunning, serveProgram } from "./a-process-agent.ts";

const PROGRAM = new URL("programs/lines.mjs", import.meta.url).pathname;

function linesOptions(more: Partial<ProcessAgentOptions> = {}): ProcessAgentOptions {
  return acpOptions({ args: [PROGRAM], protocol: "json-lines", ...more });
}

test("bad lines are logged with what is wrong, and the task goes on", async () => {
  const { remote, log } = await serveProgram(linesOptions());

  const answer = await remote.send("bad");

  expect(answer.text).toBe("still here");
  expect(answer.task?.status.state).toBe("completed");
  const logged = log.join("\n");
  for (const problem of [
    "it is not JSON: hello",
    "it is not a JSON object",
    "type must be text, thought, status, artifact, ask, done or error",
    "text must be a text that is not empty",
    "options must be a list of texts",
  ]) {
    expect(logged).toContain(problem);
  }
});

test("a question waits for one of its options, and the program gets the answer", async () => {
  const { remote } = await serveProgram(linesOptions());
  const conversation = remote.conversation();

  expect((await conversation.say("ask").result).question?.options).toEqual(["a", "b"]);
  expect((await conversation.say("c").result).question?.text).toContain("one of: a, b");
  expect((await conversation.say("B").result).text).toBe("I ask. answer 7: b");
});

test("the process that asked may be gone: another one asks the same and gets the answer", async () => {
  const { remote } = await serveProgram(linesOptions({ limits: { idleMs: 0 } }));
  const conversation = remote.conversation();

  await conversation.say("ask").result;

  expect((await conversation.say("a").result).text).toBe("I ask. answer 7: a");
});

test("a program may end its task, itself, or both", async () => {
  const { remote } = await serveProgram(linesOptions());
  const ends = async (text: string): Promise<readonly (string | undefined)[]> => {
    const { task, text: answer } = await remote.send(text);
    return [task?.status.state, answer];
  };

  expect(await ends("fail")).toEqual(["failed", "I cannot do that."]);
  expect(await ends("reject")).toEqual(["rejected", "I do not do that."]);
  expect(await ends("leave")).toEqual(["completed", "bye"]);
  expect(await ends("die")).toEqual(["failed", "The program is gone. It ended with exit code 9."]);
});

test("a new process gets the earlier messages, and each conversation its own folder if wanted", async () => {
  const { remote, options } = await serveProgram(
    linesOptions({ workspacePerSession: true, limits: { idleMs: 0 } }),
  );
  const conversation = remote.conversation();
  const facts = async (text: string) => JSON.parse((await conversation.say(text).result).text);

  const first = await facts("one");
  const second = await facts("two");

  expect(first).toMatchObject({ text: "one", history: [], isRepeated: false });
  expect(second.pid).not.toBe(first.pid);
  expect(second.history).toMatchObject([{ role: "user", text: "one" }, { role: "agent" }]);
  expect(first.cwd).toMatch(new RegExp(`^${options.workspace}/[0-9a-f]{32}$`));
  expect(second.cwd).toBe(first.cwd);
});

test.for([
  ["flood", { outputBytes: 100_000 }, "output-limit"],
  ["grow", { memoryBytes: 150_000_000 }, "memory-limit"],
  ["sleep", { promptMs: 50, graceMs: 50 }, "time-limit"],
] as const)("a program that has reached its limit is ended: %s", async ([text, limits, reason]) => {
  const { remote } = await serveProgram(linesOptions({ limits }));

  const { task } = await remote.send(text);

  expect(task?.status.state).toBe("failed");
  expect(task?.status.message?.metadata).toEqual({ reason });
});

test("there are no more processes than allowed: an idle one is stopped, a busy one is not", async () => {
  const { remote } = await serveProgram(linesOptions({ limits: { processes: 1 } }));
  const { pid } = JSON.parse((await remote.send("one")).text) as { pid: number };

  await remote.send("two");
  expect(isRunning(pid)).toBe(false);

  const asking = await remote.send("ask");
  expect(asking.question).toBeDefined();
  const refused = await remote.send("three");
  expect(refused.text).toContain("the agent already works in 1 conversations");
});

test("a caller's message reaches neither the arguments nor the environment of a program", async () => {
  process.env["CONVOKE_TEST_SECRET"] = "secret";
  const { remote } = await serveProgram(linesOptions({ env: { GIVEN: "by the operator" } }));
  const evil = "--version; $(touch evil) `id` \n\0--inspect";

  const { env, text } = JSON.parse((await remote.send(evil)).text) as {
    env: Record<string, string>;
    text: string;
  };

  delete process.env["CONVOKE_TEST_SECRET"];
  expect(text).toBe(evil);
  expect(env["GIVEN"]).toBe("by the operator");
  const known = [
    "GIVEN",
    "CONVOKE_PROCESS_MARK",
    "NODE_COMPILE_CACHE",
    "HOME",
    "LANG",
    "PATH",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
  ];
  const other = Object.keys(env).filter(
    (name) => !known.includes(name) && !/^LC_|^LOGNAME$|^TMPDIR$/.test(name),
  );
  expect(other).toEqual([]);
});

test("options that are wrong are named when the agent is made", () => {
  const make = (wrong: object) => () => serveProgram({ ...linesOptions(), ...wrong });

  return Promise.all([
    expect(make({ command: "" })).rejects.toThrow("command is required"),
    expect(make({ protocol: "http" })).rejects.toThrow('protocol must be "acp" or "json-lines"'),
    expect(make({ limits: { memory: 1 } })).rejects.toThrow('limits has no "memory"'),
    expect(make({ limits: { idleMs: -1 } })).rejects.toThrow("limits.idleMs must be a number"),
    expect(make({ comand: "x" })).rejects.toThrow("comand"),
  ]);
});
