import { type Sandbox, openSandbox } from "@convoke/coder";
import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { below, pick, times } from "../fuzz/dice.ts";
import { randomFrom } from "../harness/random.ts";
import { AShell, aFolder, needsSandbox } from "./a-shell.ts";

// The short form; `npm run test:shell` runs the full size.
const RUNS = Number(process.env["CONVOKE_SANDBOX_RUNS"] ?? 3);
const SEED = Number(process.env["CONVOKE_SHELL_SEED"] ?? Date.now() % 1_000_000);

/** Shell tools whose sandbox can write to their workspace. */
async function aSandboxedShell(
  more: { readonly network?: boolean; readonly hidden?: readonly string[] } = {},
): Promise<AShell> {
  let sandbox: Sandbox | undefined;
  const shell = new AShell({
    inMode: "full",
    sandbox: { wrap: (argv, cwd) => sandbox!.wrap(argv, cwd) },
  });
  mkdirSync(join(shell.root, ".git/hooks"), { recursive: true });
  sandbox = await openSandbox({ roots: [shell.root], network: false, ...more });
  expect(sandbox).toBeDefined();
  return shell;
}

describe("in the sandbox", () => {
  needsSandbox();

  test("only the workspace and a private /tmp are writable", async () => {
    const shell = await aSandboxedShell();
    const outside = aFolder();

    const { result } = await shell.run(
      `echo 1 > a && echo 2 > /tmp/b && cat a /tmp/b; echo x > ${outside}/c; echo x > /etc/c; echo x > .git/hooks/h; echo x > ~/c`,
    );

    expect(result.output).toMatch(/^1\n2\n/);
    expect(result.output).not.toMatch(/^x$/m);
    expect(readdirSync(shell.root)).toEqual([".git", "a"]);
    expect(readdirSync(join(shell.root, ".git/hooks"))).toEqual([]);
    expect((await shell.run("ls /tmp/b")).result["exitCode"]).not.toBe(0);
    expect(readdirSync(outside)).toEqual([]);
  });

  test(
    "nothing outside is changed through any link of the workspace",
    async () => {
      const random = randomFrom(SEED);
      for (let run = 0; run < RUNS; run += 1) {
        const shell = await aSandboxedShell();
        // Not in /tmp, of which the sandbox has its own.
        const outside = join(
          process.cwd(),
          "node_modules",
          ".cache",
          `sandbox-${process.pid}-${run}`,
        );
        mkdirSync(join(outside, "d"), { recursive: true });
        onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
        writeFileSync(join(outside, "f"), "old");
        const targets = [
          outside,
          `${outside}/f`,
          `${outside}/d`,
          `${outside}/new`,
          "/etc/hosts",
          "..",
        ];
        const links = times(12, (index) => `l${index}`);
        for (const link of links) {
          const target = random() < 0.4 ? pick(links, random) : pick(targets, random);
          symlinkSync(target, join(shell.root, link));
        }
        const attempts = times(40, () => {
          const link = pick(links, random);
          const path = pick(
            [link, `${link}/f`, `${link}/d/x`, `${link}/../f`, `./${link}/new`],
            random,
          );
          return pick(
            [
              `echo new > ${path}`,
              `rm -rf ${path}`,
              `mv ${path} m${below(99, random)}`,
              `ln -f ${path} h`,
              `chmod 777 ${path}`,
              `mkdir ${path}`,
              `cp -r /etc/hostname ${path}`,
            ],
            random,
          );
        });

        await shell.run(attempts.join("\n"));

        expect(readdirSync(outside), `seed ${SEED}`).toEqual(["d", "f"]);
        expect(readFileSync(join(outside, "f"), "utf8")).toBe("old");
        expect(readdirSync(join(outside, "d"))).toEqual([]);
      }
    },
    30_000 + 10_000 * RUNS,
  );

  test("there is no network unless it is allowed, and hidden files are not visible", async () => {
    const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { readonly port: number };
    const hidden = "/etc/passwd";
    const line = `cat < /dev/tcp/127.0.0.1/${port}; cat ${hidden}`;

    const off = await (await aSandboxedShell({ hidden: [hidden] })).run(line);
    const on = await (await aSandboxedShell({ network: true })).run(line);

    expect(off.result.output).not.toContain("hello");
    expect(off.result.output).not.toContain("root:");
    expect(on.result.output).toContain("hello");
    expect(on.result.output).toContain("root:");
  });

  test("the other processes of the system are not visible, and no rights can be gained", async () => {
    const { result } = await (
      await aSandboxedShell()
    ).run("ls /proc | grep -c '^[0-9]'; grep -E '^(NoNewPrivs|CapEff)' /proc/self/status");

    const [count, ...rights] = result.output.trim().split("\n");
    expect(Number(count)).toBeLessThan(10);
    expect(rights.toSorted().map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
      "CapEff: 0000000000000000",
      "NoNewPrivs: 1",
    ]);
  });
});

test("a sandbox that does not work here counts as none", async () => {
  const options = { roots: [aFolder()], network: false };

  expect(await openSandbox(options, { PATH: "" })).toBeUndefined();
  expect(await openSandbox(options, { CONVOKE_BWRAP: "/bin/false", PATH: "" })).toBeUndefined();
});
