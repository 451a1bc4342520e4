import { describe, expect, test, vi } from "vitest";
import { aNotebook } from "./a-notebook.ts";
import { World, ours, published } from "./a-world.ts";
import { eventually } from "./eventually.ts";
import { expectNoLeftovers, markedProcesses } from "./marked-processes.ts";

expectNoLeftovers();

const everything = published("everything");

describe("one broken server does not break a turn", () => {
  test("one that hangs at the start costs its timeout once, and the others work", async () => {
    const hanging = { ...ours("odd-server", ["hanging"]), startTimeoutMs: 4000 };
    const world = new World({ hanging, helpful: ours("helpful-server") });

    const began = performance.now();
    const names = await world.names();

    expect(performance.now() - began).toBeLessThan(20_000);
    expect(names).toContain("helpful__sleep");
    expect(world.servers.report()).toMatchObject([
      { name: "hanging", status: "failed", error: "it did not answer within 4 s", tools: [] },
      { name: "helpful", status: "connected" },
    ]);
    const again = performance.now();
    await world.names();
    expect(performance.now() - again).toBeLessThan(4000);
    expect(world.servers.whyMissing("hanging__anything")).toBe(
      "The MCP server hanging is not connected: it did not answer within 4 s. " +
        "Its tools cannot be used now.",
    );
  });

  test("one that cannot be started is reported, without its path", async () => {
    const secret = "/secret/place/program";
    const world = new World({ absent: { command: secret }, helpful: ours("helpful-server") });

    expect(await world.names()).toContain("helpful__sleep");
    const [report] = world.servers.report();
    expect(report).toMatchObject({
      status: "failed",
      error: "its command or its working directory was not found",
    });
    expect(JSON.stringify(report)).not.toContain("secret");
  });

  test("one that exits immediately is reported with its exit", async () => {
    const world = new World({
      ending: { command: process.execPath, args: ["-e", "process.exit(3)"] },
    });

    expect(await world.names()).toEqual([]);
    expect(world.servers.report()).toMatchObject([
      { status: "failed", error: "it ended with code 3" },
    ]);
  });

  test("one that prints garbage between its messages works", async () => {
    const world = new World({ odd: ours("odd-server", ["garbage"]) });

    expect(await world.result("odd__plain")).toBe("called plain");
  });

  test("one that prints endlessly on its output is stopped", async () => {
    const world = new World(
      { odd: ours("odd-server", ["hanging", "endless"]) },
      { maxMessageBytes: 1_000_000 },
    );

    expect(await world.names()).toEqual([]);
    expect(world.servers.report()).toMatchObject([
      { status: "failed", error: "it sent more than 1000000 bytes in one message" },
    ]);
  });

  test("one that floods its error output works, and the log stays small", async () => {
    const world = new World({ odd: ours("odd-server", ["flooding"]) });

    await world.names();
    await eventually(() => expect(world.log.length).toBeGreaterThanOrEqual(50));

    expect(await world.result("odd__plain")).toBe("called plain");
    const lines = world.log.filter(({ message }) => message === "an MCP server says");
    expect(lines.length).toBeLessThanOrEqual(60);
    expect(
      Math.max(...lines.map(({ fields }) => String(fields["line"]).length)),
    ).toBeLessThanOrEqual(1000);
  });

  test("one that failed is retried in the background", async () => {
    const world = new World({ absent: { command: "/nowhere/at-all" } });
    const attempts = (): number =>
      world.log.filter(({ message }) => message === "an MCP server is not connected").length;

    await world.names();

    expect(attempts()).toBe(1);
    await eventually(() => expect(attempts()).toBeGreaterThan(1));
    expect(world.log.map(({ fields }) => fields["waitMs"]).slice(0, 2)).toEqual([1000, 2000]);
  });
});

describe("a server that dies", () => {
  test("fails the running call, and works again at the next", async () => {
    const { notes, read } = await aNotebook();
    const world = new World({ helpful: ours("helpful-server", [], { NOTES: notes }) });
    const running = world.call("helpful__sleep", { ms: 60_000 });
    await eventually(async () => expect(await read()).toBe("sleeps\n"));
    const [pid] = markedProcesses();

    process.kill(pid!, "SIGKILL");
    const { outcome } = await running;

    expect(outcome).toEqual({
      kind: "error",
      text:
        "sleep of the MCP server helpful failed: it was ended by SIGKILL. " +
        "It may or may not have done its work; check before you repeat it.",
    });
    expect(world.servers.report()).toMatchObject([
      { status: "disconnected", error: "it was ended by SIGKILL", tools: [] },
    ]);
    expect(await world.result("helpful__sleep", { ms: 1 })).toBe("slept");
    expect(markedProcesses()).not.toContain(pid);
  });

  test("restarts by itself, without a call", async () => {
    const world = new World({ everything });
    await world.names();
    process.kill(markedProcesses()[0]!, "SIGKILL");

    await eventually(() => expect(world.servers.report()[0]?.status).toBe("disconnected"));
    await eventually(() => expect(world.servers.report()[0]?.status).toBe("connected"));
  });

  test("and is needed by a tool that was found before is connected again", async () => {
    const world = new World({ helpful: ours("helpful-server") });
    const sleep = await world.find("helpful__sleep");
    process.kill(markedProcesses()[0]!, "SIGKILL");
    await eventually(() => expect(world.servers.report()[0]?.status).toBe("disconnected"));

    const { outcome } = await world.run(sleep, { ms: 1 });

    expect(outcome).toEqual({ kind: "result", value: "slept" });
  });
});

describe("a call", () => {
  test("that is canceled ends immediately, and the server is notified", async () => {
    const { notes, read } = await aNotebook();
    const world = new World({ helpful: ours("helpful-server", [], { NOTES: notes }) });
    const stop = new AbortController();

    const running = world.call("helpful__sleep", { ms: 60_000 }, { signal: stop.signal });
    await eventually(async () => expect(await read()).toBe("sleeps\n"));
    const canceledAt = performance.now();
    stop.abort(new Error("nobody needs it any more"));

    await expect(running).rejects.toThrow("nobody needs it any more");
    // Long before the minute that the call would have taken.
    expect(performance.now() - canceledAt).toBeLessThan(30_000);
    await eventually(async () => expect(await read()).toBe("sleeps\nstopped sleeping\n"));
    expect(await world.result("helpful__sleep", { ms: 1 })).toBe("slept");
  });

  test("that takes too long ends with its timeout, and the server is notified", async () => {
    const { notes, read } = await aNotebook();
    const helpful = { ...ours("helpful-server", [], { NOTES: notes }), callTimeoutMs: 1500 };
    const world = new World({ helpful });

    const { outcome } = await world.call("helpful__sleep", { ms: 60_000 });

    expect(outcome).toMatchObject({
      kind: "error",
      text: expect.stringContaining("1.5 s") as string,
    });
    await eventually(async () => expect(await read()).toBe("sleeps\nstopped sleeping\n"));
  });

  test("that fails has the server's text", async () => {
    const world = new World({ helpful: ours("helpful-server") });

    expect((await world.call("helpful__fail")).outcome).toEqual({
      kind: "error",
      text: "It is broken.",
    });
  });

  test("with a long result is truncated, with a note", async () => {
    const world = new World({ helpful: ours("helpful-server") }, { maxResultSize: 1000 });

    const value = String(await world.result("helpful__big", { size: 5000 }));

    expect(value.length).toBeLessThan(1100);
    expect(value).toContain("[truncated: 4000 characters]");
  });
});

describe("tools", () => {
  test("that are added later are available in the next turn", async () => {
    const world = new World({ helpful: ours("helpful-server") });
    expect(await world.names()).not.toContain("helpful__grown");

    await world.result("helpful__grow");

    await eventually(async () => expect(await world.names()).toContain("helpful__grown"));
    expect(await world.result("helpful__grown")).toBe("grown");
  });

  test("with unusual names get names that every provider accepts, and are called by their own", async () => {
    const world = new World({ odd: ours("odd-server") });

    const names = await world.names();

    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^odd__[a-zA-Z0-9_-]{1,59}$/);
    expect(await world.result(names[1]!)).toBe("called with spaces/and.dots");
    expect(await world.result(names[3]!)).toBe(`called ${"l".repeat(100)}`);
  });

  test("on many pages are found, and too many are truncated with a note", async () => {
    const world = new World({
      odd: ours("odd-server", ["many"]),
      few: { ...ours("odd-server", ["many"]), allow: ["tool_7", "tool_299"] },
    });

    const names = await world.names();

    expect(names).toHaveLength(128 + 2);
    expect(names.slice(-2)).toEqual(["few__tool_7", "few__tool_299"]);
    expect(world.servers.report()).toMatchObject([
      { note: "it has 300 tools, of which the first 128 are used; choose with allow" },
      { name: "few" },
    ]);
  });
});

describe("schemas from a server", () => {
  // Long enough to be noticed, short enough for a failing test to end.
  const code = `${"a".repeat(26)}!`;

  async function checked(world: World, name: string, input: object): Promise<unknown> {
    return (await world.find(name)).check(input);
  }

  test("do not block us with the pattern of an argument", async () => {
    const world = new World({ odd: ours("odd-server", ["schemas"]) });

    expect(await checked(world, "odd__pattern_in", { code })).toMatchObject({ ok: true });
    expect(await checked(world, "odd__pattern_in", { size: "big" })).toEqual({
      ok: false,
      problems: [expect.stringMatching(/^size: /)],
    });
    expect(await world.result("odd__pattern_in", { code })).toBe("called pattern_in");
  });

  test("do not block us with the pattern of a result", async () => {
    const world = new World({ odd: ours("odd-server", ["schemas"]) });

    expect(await world.result("odd__pattern_out", { code })).toMatchObject({
      structuredContent: { code },
    });
    expect((await world.call("odd__pattern_out", { size: "big" })).outcome).toMatchObject({
      kind: "error",
      text: expect.stringContaining("data/size must be number") as string,
    });
  });

  test("that cannot be used disable the check with a warning each, but no tool", async () => {
    const world = new World({ odd: ours("odd-server", ["schemas"]) });

    expect(await world.names()).toHaveLength(5);
    expect(await checked(world, "odd__no_schema", { code: 1 })).toMatchObject({ ok: true });
    expect(await world.result("odd__deep", { code: [1] })).toMatchObject({
      structuredContent: { code: [1] },
    });
    expect(world.log).toEqual(
      [
        ["no_schema", /^inputSchema.properties\["code"\].type must be one of/],
        ["deep", /^outputSchema.* is nested deeper than 32 levels/],
      ].map(([tool, problem]) => ({
        message: "a schema of an MCP server's tool is unusable, so nothing is checked by it",
        fields: { server: "odd", tool, problem: expect.stringMatching(problem!) as string },
      })),
    );
  });
});

test("a server that supports only the newest revision is called with it", async () => {
  const world = new World({ helpful: ours("helpful-server", ["new"]) });

  expect(await world.names()).toContain("helpful__sleep");
  expect(await world.result("helpful__sleep", { ms: 1 })).toBe("slept");
  await world.result("helpful__grow");
  await eventually(async () => expect(await world.names()).toContain("helpful__grown"));
});

test("secrets of ours do not reach a server", async () => {
  vi.stubEnv("OPENAI_API_KEY", "sk-secret");
  vi.stubEnv("CONVOKE_TOKEN", "secret");
  const world = new World({ helpful: ours("helpful-server", [], { GIVEN: "this" }) });

  const seen = JSON.parse(String(await world.result("helpful__environment"))) as object;

  expect(seen).toMatchObject({ GIVEN: "this", PATH: process.env["PATH"] });
  expect(Object.keys(seen)).not.toContain("OPENAI_API_KEY");
  expect(JSON.stringify(seen)).not.toContain("secret");
  vi.unstubAllEnvs();
});
