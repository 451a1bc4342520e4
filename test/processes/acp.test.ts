import { EXTENSIONS, openApprovals } from "@convoke/protocol";
import { connect } from "convoke";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { acpOptions, isRunning, serveProgram } from "./a-process-agent.ts";

/** Starting a process takes long on a busy machine. */
const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

test("a program streams its answer, and the same process gets the next message of the conversation", async () => {
  const { remote } = await serveProgram(acpOptions());
  const conversation = remote.conversation();

  const run = conversation.say("say one two three");
  const chunks: string[] = [];
  for await (const chunk of run.text) chunks.push(chunk);

  expect(chunks.join("")).toBe("one two three ");
  expect((await run.result).task?.status.state).toBe("completed");
  expect((await conversation.say("recall").result).text).toBe("say one two three | recall");
  // Another conversation has another process.
  expect((await remote.send("recall")).text).toBe("recall");
});

test("thoughts, tool calls and plans are text for plain callers and data for coding clients", async () => {
  const { remote } = await serveProgram(acpOptions());
  const client = await connect(remote.url, { extensions: [EXTENSIONS.coder.uri], cache: false });

  const plain = await remote.send("work");
  const rich = await client.send("work");

  expect(plain.text).toBe("Done.");
  const texts = plain.task?.history?.flatMap(({ parts }) => parts) ?? [];
  expect(texts).toMatchObject([{ text: "work" }, { text: "[>] read" }, { text: "Read a.txt" }]);
  const data = rich.task?.history?.flatMap(({ parts }) => parts) ?? [];
  const kinds = data.flatMap(({ metadata }) => metadata?.[EXTENSIONS.coder.uri] ?? []);
  expect(kinds).toEqual([{ type: "thought" }, { type: "plan" }, { type: "tool-call" }]);
  expect(data.flatMap((part) => (part.kind === "data" ? [part.data] : []))).toMatchObject([
    { subject: "Look", description: "first and then act." },
    { entries: [{ content: "read", status: "in_progress" }] },
    { callId: "1", name: "read", status: "SUCCEEDED", result: "its text", input: { n: 1 } },
  ]);
});

test("a permission is an approval with the change, and only its own answer allows the call", async () => {
  const { remote, options } = await serveProgram(acpOptions());
  const file = join(options.workspace, "a.txt");
  writeFileSync(file, "old\n");

  const asked = await remote.send("write a.txt: new");
  const [approval] = openApprovals(asked.task!, new Date());

  expect(asked.question?.text).toContain("Approve: Write a.txt?");
  expect(asked.question?.text).toContain("-old");
  expect(approval).toMatchObject({
    title: "Write a.txt",
    options: ["once", "reject"],
    preview: { kind: "diff", path: "a.txt", before: "old\n", after: "new" },
  });
  const answer = (fields: object) => {
    const data = { approvalId: approval!.id, digest: approval!.digest, option: "once", ...fields };
    const metadata = { [EXTENSIONS.approvals.uri]: { type: "approval-answer" } };
    const { id: taskId } = asked.task!;
    return remote.send([{ kind: "data", data, metadata }], { taskId });
  };
  await expect(answer({ digest: `sha-256:${"A".repeat(43)}` })).rejects.toThrow("digest");
  await expect(answer({ option: "always" })).rejects.toThrow("must be one of once, reject");
  expect(readFileSync(file, "utf8")).toBe("old\n");

  expect((await answer({})).text).toBe("It is written.");
  expect(readFileSync(file, "utf8")).toBe("new");
});

test("a rejected call is not made, and a message that is no answer replaces the prompt", async () => {
  const { remote, options } = await serveProgram(acpOptions());
  const first = remote.conversation();
  const second = remote.conversation();

  await first.say("write a.txt: x").result;
  await second.say("write b.txt: x").result;

  expect((await first.say("reject").result).text).toBe("It is not written.");
  const replaced = await second.say("say something else").result;
  expect(replaced.text).toContain("something else");
  expect(replaced.task?.status.state).toBe("completed");
  expect(existsSync(join(options.workspace, "a.txt"))).toBe(false);
  expect(existsSync(join(options.workspace, "b.txt"))).toBe(false);
});

test("a canceled task cancels the prompt, and the process stays for the next message", async () => {
  const { remote } = await serveProgram(acpOptions());
  const conversation = remote.conversation();
  const run = conversation.say("hang");
  for await (const text of run.text) {
    expect(text).toBe("I wait.");
    break;
  }

  expect((await run.cancel())?.status.state).toBe("canceled");

  expect((await conversation.say("recall").result).text).toBe("hang | recall");
});

test("a task that is canceled while it waits for a decision makes no call, and leaves the session usable", async () => {
  const { remote, options } = await serveProgram(acpOptions());
  const conversation = remote.conversation();
  const { task } = await conversation.say("write a.txt: x").result;

  expect((await remote.cancel(task!.id)).status.state).toBe("canceled");

  const { contextId } = task!;
  const next = await remote.conversation({ contextId }).say("recall").result;
  expect(next.text).toBe("write a.txt: x | recall");
  expect(existsSync(join(options.workspace, "a.txt"))).toBe(false);
});

test("a program that ignores the cancel is killed, with everything that it started", async () => {
  const { remote } = await serveProgram(acpOptions({ limits: { graceMs: 50 } }));
  const run = remote.stream("stubborn");
  let pids: readonly number[] = [];
  for await (const text of run.text) {
    pids = text.split(" ").map(Number);
    break;
  }
  expect(pids.every(isRunning)).toBe(true);

  expect((await run.cancel())?.status.state).toBe("canceled");

  await eventually(() => expect(pids.some(isRunning)).toBe(false));
});

test("a process that dies in the middle fails its task, or another one continues its session", async () => {
  const forgetful = await serveProgram(acpOptions());
  const able = await serveProgram(
    acpOptions({ env: { MEMORY: temporaryFolder() }, limits: { restarts: 1 } }),
  );

  const lost = await forgetful.remote.send("crash");
  const continued = await able.remote.send("stumble");
  const hopeless = await able.remote.send("crash");

  expect(lost.task?.status.state).toBe("failed");
  expect(lost.text).toBe("The program is gone. It ended with exit code 3.");
  expect(lost.task?.status.message?.metadata).toEqual({ reason: "process-exited" });
  // What it repeats of the conversation is not part of the answer.
  expect(continued.text).toBe("I went on.");
  expect(hopeless.task?.status.state).toBe("failed");
}, 60_000);

test("an idle process is stopped, and its session is loaded for the next message", async () => {
  const env = { MEMORY: temporaryFolder() };
  const { remote } = await serveProgram(acpOptions({ env, limits: { idleMs: 0 } }));
  const conversation = remote.conversation();

  await conversation.say("say hello").result;
  const waiting = await conversation.say("write a.txt: x").result;

  // The process is gone while it waits; another one asks the same again, and the answer counts.
  expect(waiting.question).toBeDefined();
  const answered = await conversation.say("approve").result;
  expect(answered.text).toBe("It is written.");
  expect((await conversation.say("recall").result).text).toMatch(
    /^say hello \| write a.txt: x \| You were/,
  );
});

test("errors of a program stay in the log, and its refusal is a rejected task", async () => {
  const { remote, log } = await serveProgram(acpOptions());

  const failed = await remote.send("error");
  const refused = await remote.send("refuse");

  expect(failed.task?.status.state).toBe("failed");
  expect(JSON.stringify(failed)).not.toContain("secret of the program");
  expect(log.join("\n")).toContain("the program answered with an error");
  expect(refused.task?.status.state).toBe("rejected");
});

test("a command that does not exist, and a program that is not ACP, fail with a reason", async () => {
  const missing = await serveProgram(acpOptions({ command: "/nowhere/program" }));
  const silent = await serveProgram(
    acpOptions({ command: "sleep", args: ["1000"], limits: { startMs: 100, graceMs: 10 } }),
  );

  expect((await missing.remote.send("hello")).text).toContain(
    "its command or its folder was not found",
  );
  expect((await silent.remote.send("hello")).text).toContain("It did not open a session in time.");
});

test("the operator chooses the mode, and callers only among those that they may use", async () => {
  const settings = (mode: string) => ({
    metadata: { [EXTENSIONS.coder.uri]: { kind: "agent-settings", mode } },
  });
  const { remote } = await serveProgram(acpOptions());
  const open = await serveProgram(acpOptions({ callerModes: ["yolo"] }));
  const wrong = await serveProgram(acpOptions({ mode: "wild" }));

  const asking = async (agent: typeof remote): Promise<string> => {
    const client = await connect(agent.url, { extensions: [EXTENSIONS.coder.uri], cache: false });
    const message = { kind: "message", role: "user", messageId: "m", ...settings("yolo") } as const;
    const { text } = await client.send({ ...message, parts: [{ kind: "text", text: "mode" }] });
    return text;
  };

  expect(await asking(remote)).toBe("ask");
  expect(await asking(open.remote)).toBe("yolo");
  expect((await wrong.remote.send("mode")).task?.status.state).toBe("failed");
  expect(wrong.log.join("\n")).toContain("it offers ask, yolo");
});

test("files are read through the server only inside the workspace", async () => {
  const { remote, options } = await serveProgram(acpOptions({ files: true }));
  writeFileSync(join(options.workspace, "a.txt"), "inside");

  const read = async (path: string): Promise<string> => (await remote.send(`read ${path}`)).text;

  expect(await read(join(options.workspace, "a.txt"))).toBe('{"content":"inside"}');
  expect(await read("/etc/hostname")).toContain("outside the workspace");
  expect(await read(join(options.workspace, "missing"))).toContain("-32002");
});
