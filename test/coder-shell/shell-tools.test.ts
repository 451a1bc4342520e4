import { Policy } from "@convoke/coder";
import { AgentLoop } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { eventually } from "../mcp/eventually.ts";
import { verifies } from "../verifies.ts";
import { AShell } from "./a-shell.ts";

describe("a command", () => {
  test("gives its output in pieces that are not repeated, with whole characters", async () => {
    const line = "printf 'a\\xe2'; sleep 0.3; printf '\\x82\\xac' >&1; sleep 0.3; printf b >&2";
    const { pieces, result } = await new AShell().run(line);

    expect(pieces.join("")).toBe("a€b");
    expect(pieces.length).toBeGreaterThan(1);
    expect(result).toEqual({ exitCode: 0, output: "a€b" });
  });

  test("keeps its colours for people, but not for the model", async () => {
    const { pieces, result } = await new AShell().run("printf '\\033[31mred\\033[0m'; exit 3");

    expect(pieces.join("")).toBe("\u001B[31mred\u001B[0m");
    expect(result).toEqual({ exitCode: 3, output: "red" });
  });

  test("with a long output gives the model its beginning and its end", async () => {
    const { result } = await new AShell().run("seq 1 100000");

    expect(result.output.length).toBeLessThan(31_000);
    expect(result.output).toMatch(/^1\n2\n[^]*\[truncated: \d+ characters\][^]*\n100000\n$/);
  });

  test("runs without a shell if it is given as words", async () => {
    const { result } = await new AShell().call("run_shell", { argv: ["echo", "$(id)", "*"] });

    expect(result.output).toBe("$(id) *\n");
    const odd = await new AShell().call("run_shell", { argv: ["-a", "x", "echo", "y"] });
    expect(odd.result).toMatchObject({ exitCode: 127 });
  });

  test("has no input, and starts in a folder of the workspace", async () => {
    const shell = new AShell();

    expect(await shell.run("cat; mkdir sub; pwd")).toMatchObject({
      result: { output: `${shell.root}\n` },
    });
    expect((await shell.run("pwd", { cwd: "sub" })).result.output).toBe(`${shell.root}/sub\n`);
    symlinkSync("/", join(shell.root, "out"));
    for (const cwd of ["..", "/", "out/etc", "sub/../.."]) {
      await expect(shell.run("pwd", { cwd })).rejects.toThrow("cwd is outside the workspace");
    }
  });

  test("does not see the secrets of the server", async () => {
    vi.stubEnv("MY_API_KEY", "secret-1");
    vi.stubEnv("APP_NAME", "app");
    vi.stubEnv("APP_TOKEN", "secret-2");
    onTestFinished(() => void vi.unstubAllEnvs());

    const { output } = (await new AShell({ passEnvironment: ["APP_*"] }).run("env")).result;

    expect(output).not.toContain("secret");
    expect(output).toContain("APP_NAME=app");
    expect(
      (await new AShell({ passEnvironment: ["APP_TOKEN"] }).run("env")).result.output,
    ).toContain("APP_TOKEN=secret-2");
  });

  test("does not find programs of the workspace by their name alone", async () => {
    const shell = new AShell();
    writeFileSync(join(shell.root, "ls"), "#!/bin/sh\necho fake", { mode: 0o755 });
    vi.stubEnv("PATH", `${shell.root}:.:${process.env["PATH"]}`);
    onTestFinished(() => void vi.unstubAllEnvs());

    const inside = new AShell({
      roots: [shell.root],
      policy: new Policy({ rules: [] }, [shell.root]),
    });

    expect((await inside.run("ls")).result.output).toBe("ls\n");
    expect((await inside.run("./ls")).result.output).toBe("fake\n");
  });

  test("that takes too long is ended with everything it started, and its output is kept", async () => {
    const shell = new AShell();
    const { result } = await shell.run(`echo a; ${STUBBORN}`, { timeoutMs: 3000 });

    expect(result).toMatchObject({ output: "a\n", timedOut: true });
    await expectGone(shell.root);
  });

  verifies("G10", "is ended with everything it started when its task is canceled", async () => {
    const { root, shell } = new AShell({
      rules: [{ verdict: "allow", tool: "run_shell" }],
      sandbox: { wrap: (argv) => argv },
    });
    writeFileSync(join(root, "stubborn.sh"), STUBBORN);
    const model = scriptedModel([calls("run_shell", { command: "sh stubborn.sh" })]);
    const loop = new AgentLoop({ model, tools: [...shell.tools] });
    const states: string[] = [];
    const events = loop.execute("go", { taskId: "t1" }).forEach((event) => {
      if (event.kind === "status-update") states.push(event.status.state);
    });
    await eventually(() => expect(pidsIn(root)).toHaveLength(2));

    await loop.cancel("t1");

    await events;
    expect(states.at(-1)).toBe("canceled");
    await expectGone(root);
  });

  test("leaves nothing running when it ends", async () => {
    const shell = new AShell();
    await shell.run(
      "(sleep 1000 & echo $! >> pids); (setsid sleep 1000 & echo $! >> pids); sleep 0.2",
    );

    await expectGone(shell.root);
  });

  test("that may change files is preceded by a checkpoint", async () => {
    let checkpoints = 0;
    const shell = new AShell({ beforeChange: () => void (checkpoints += 1) });
    await shell.run("ls | head -1");
    expect(checkpoints).toBe(0);

    await shell.run("touch a");

    expect(checkpoints).toBe(1);
  });

  test("that a rule denies does not run, even if an approval has edited the call", async () => {
    const shell = new AShell({ rules: [{ verdict: "deny", command: "touch" }] });

    await expect(shell.run("echo; touch a")).rejects.toThrow("not allowed: a rule for touch");
    expect(existsSync(join(shell.root, "a"))).toBe(false);
  });
});

/** Two processes that ignore SIGTERM; one of them has left the process group. */
const STUBBORN = [
  "trap '' TERM",
  "setsid sh -c 'echo $$ >> pids; exec sleep 1000' &",
  "sh -c 'echo $$ >> pids; exec sleep 1000'",
]
  .join("; ")
  .replace("&;", "&");

function pidsIn(root: string): readonly number[] {
  const file = join(root, "pids");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
}

async function expectGone(root: string): Promise<void> {
  const pids = pidsIn(root);
  expect(pids).toHaveLength(2);
  await eventually(() => expect(pids.filter((pid) => existsSync(`/proc/${pid}/exe`))).toEqual([]));
}

describe("a background process", () => {
  verifies("G13", "is read, written to and ended only in its own conversation", async () => {
    const shell = new AShell();
    const { processId } = (await shell.run("cat; sleep 1000", { background: true })).result;

    await shell.call("shell_input", { processId, text: "hello\n" });

    await eventually(async () =>
      expect((await shell.call("shell_output", { processId })).result).toEqual({
        output: "hello\n",
        isRunning: true,
      }),
    );
    expect((await shell.call("shell_output", { processId })).result.output).toBe("");
    for (const other of [{ contextId: "other" }, { caller: { owner: "bob" } as never }]) {
      await expect(shell.call("shell_output", { processId }, other)).rejects.toThrow("no process");
      await expect(shell.call("shell_kill", { processId }, other)).rejects.toThrow("no process");
    }
    expect((await shell.call("shell_kill", { processId })).result).toMatchObject({
      signal: "SIGTERM",
    });
    await expect(shell.call("shell_input", { processId, text: "x" })).rejects.toThrow("not read");
  });

  test("is ended when the agent is closed, and a conversation has a limited number", async () => {
    const shell = new AShell();
    const start = () => shell.run("echo $$ >> pids; sleep 1000", { background: true });
    for (let count = 0; count < 8; count += 1) await start();
    await expect(start()).rejects.toThrow("8 processes already run in this conversation");
    await eventually(() => expect(pidsIn(shell.root)).toHaveLength(8));

    await shell.shell.close();

    expect(pidsIn(shell.root).filter((pid) => existsSync(`/proc/${pid}/exe`))).toEqual([]);
  });
});

test("without a sandbox even a harmless command is asked for, each time, and says so", async () => {
  const { shell } = new AShell({ inMode: "full" });
  const model = scriptedModel([
    calls("run_shell", { command: "echo 1 > $X" }),
    calls("run_shell", { command: "ls" }),
  ]);
  const world = new LoopWorld({ model, tools: [...shell.tools] });

  const asked = await world.ask("go");

  const [approval] = openApprovals(asked);
  expect(approval).toMatchObject({
    title: "Run echo 1 > $X",
    risk: "danger",
    options: ["once", "reject", "edit"],
    preview: { kind: "text", text: expect.stringMatching(/\$ echo 1 > \$X$/) },
  });
  expect(approval?.prompt).toContain("runs echo 1");
  expect(approval?.prompt).toContain("there is no sandbox");
  expect(approval?.prompt).toContain("not known before it runs: where > $X leads");
  expect(model.requests[0]?.tools.find(({ name }) => name === "run_shell")?.description).toContain(
    "There is no sandbox here",
  );
  const edited = answerTo(approval!, { option: "edit", arguments: { command: "echo 2" } });
  const again = await world.ask([edited], { taskId: asked.id });
  expect(resultsTold(model.requests)).toEqual([{ exitCode: 0, output: "2\n" }]);
  expect(openApprovals(again)).toHaveLength(1);
});

test("without a sandbox the input of a process is asked for, also in full mode", async () => {
  const { shell } = new AShell({ inMode: "full" });
  const input = { processId: "p1", text: "rm -r .\n" };
  const world = new LoopWorld({
    model: scriptedModel([calls("shell_input", input)]),
    tools: [...shell.tools],
  });

  const [approval] = openApprovals(await world.ask("go"));

  expect(approval).toMatchObject({ tool: { name: "shell_input" }, risk: "danger" });
  expect(approval?.prompt).toContain("there is no sandbox");
});

test("in plan mode a command that changes something is denied without a question", async () => {
  const { shell } = new AShell({ inMode: "plan", sandbox: { wrap: (argv) => argv } });
  const model = scriptedModel([
    [calls("run_shell", { command: "touch a" }), calls("run_shell", { command: "echo b" })],
    "ok",
  ]);
  const world = new LoopWorld({ model, tools: [...shell.tools] });

  expect((await world.ask("go")).status.state).toBe("completed");
  expect(resultsTold(model.requests)).toEqual([
    "Not run: a rule of this agent does not allow it.",
    { exitCode: 0, output: "b\n" },
  ]);
});
