import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { describe, expect, test } from "vitest";
import { aHome } from "./testing/at-terminal.suite.ts";
import { runCli } from "./testing/run-cli.suite.ts";

/** Both streams are a terminal; `stdin` is what the user types. */
const AT_TERMINAL = {
  terminal: { keyboard: {} as ReadStream, screen: {} as WriteStream },
} as const;

function jsonIn(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}

describe("convoke init", () => {
  test("creates a plain project with the versions that this repository uses", async () => {
    const folder = join(aHome(), "My Agent!");

    const { code, stdout } = await runCli(["init", folder, "--json"]);

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      folder,
      template: "plain",
      files: [
        ".gitignore",
        "README.md",
        "agent.test.ts",
        "agent.ts",
        "package.json",
        "tsconfig.json",
      ],
    });
    const root = new URL("../../../../", import.meta.url);
    const { devDependencies } = jsonIn(new URL("package.json", root).pathname) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const own = jsonIn(new URL("apps/convoke/package.json", root).pathname);
    const { version } = own as { readonly version: string };
    expect(jsonIn(join(folder, "package.json"))).toMatchObject({
      name: "my-agent",
      dependencies: { convoke: version },
      devDependencies: {
        "@types/node": devDependencies["@types/node"],
        typescript: devDependencies["typescript"],
      },
      engines: { node: ">=22.19" },
    });
    expect(readFileSync(join(folder, ".gitignore"), "utf8")).toContain(".convoke/\n");
  });

  test("writes at most 15 lines of code for the plain agent", async () => {
    const folder = join(aHome(), "short");

    await runCli(["init", folder]);

    const lines = readFileSync(join(folder, "agent.ts"), "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(15);
  });

  test("names the files that are in the way, and writes nothing", async () => {
    const folder = aHome();
    writeFileSync(join(folder, "agent.ts"), "mine");

    const { code, stderr } = await runCli(["init", folder, "--template", "planner"]);

    expect(code).toBe(2);
    expect(stderr).toBe(
      `${folder} already has agent.ts: choose another folder, or remove them first. See: convoke init --help\n`,
    );
    expect(readdirSync(folder)).toEqual(["agent.ts"]);
    expect(readFileSync(join(folder, "agent.ts"), "utf8")).toBe("mine");
  });

  test("rejects a template that does not exist, before it writes anything", async () => {
    const folder = join(aHome(), "agent");

    const { code, stderr } = await runCli(["init", folder, "--template", "tool"]);

    expect(code).toBe(2);
    expect(stderr).toContain(
      '--template must be one of plain, tools, planner, not "tool". Did you mean tools?',
    );
    expect(existsSync(folder)).toBe(false);
  });

  test("reports a folder that cannot be written", async () => {
    const file = join(aHome(), "file");
    writeFileSync(file, "");

    const { code, stderr } = await runCli(["init", join(file, "agent")]);

    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot be written to .*\(ENOTDIR\)/);
  });

  test("asks for the folder and the template at a terminal, until it knows the template", async () => {
    const folder = join(aHome(), "asked");

    const { code, stdout } = await runCli(["init"], {
      ...AT_TERMINAL,
      stdin: `${folder}\n7\n3\n`,
    });

    expect(code).toBe(0);
    expect(stdout).toContain("Folder (my-agent): ");
    expect(stdout.split("Template (plain): ")).toHaveLength(3);
    expect(stdout).toContain("from the template planner");
    expect(readdirSync(folder)).toContain("weather.ts");
  });

  test("writes nothing if the user leaves a question with Ctrl+D or Ctrl+C", async () => {
    const folder = join(aHome(), "left");
    const stop = new AbortController();
    const never = Readable.from(
      (async function* () {
        yield Buffer.from(`${folder}\n`);
        stop.abort();
        await new Promise(() => undefined);
      })(),
    );

    const ended = await runCli(["init"], { ...AT_TERMINAL, stdin: `${folder}\n` });
    const stopped = await runCli(["init"], { ...AT_TERMINAL, stdin: never, signal: stop.signal });

    expect([ended.code, stopped.code]).toEqual([130, 130]);
    expect(existsSync(folder)).toBe(false);
  });
});
