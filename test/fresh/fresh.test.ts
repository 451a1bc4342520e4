import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installInto } from "../pack/npm.ts";
import { getNode, getTooOldNode, hasPackagedNode } from "../pack/runtimes.ts";
import { CAN_CHOOSE_USER, Machine } from "./machine.ts";

/** A liveness bound: an installation downloads 200 MB. */
const WITHIN_MS = 600_000;

/** `npm run test:fresh` tries every line of Node as both users, with all tests. */
const IS_WHOLE = process.env["CONVOKE_FRESH"] === "all";

/** All tests take minutes if nothing else runs. */
const TESTS_WITHIN_MS = IS_WHOLE ? 3_600_000 : WITHIN_MS;

/** The tests that a fresh machine runs here: they start servers as users do. */
const TESTS = IS_WHOLE ? "npm test" : "npm test -- test/start/ready.test.ts";

const NODES: Readonly<Record<string, (folder: string) => Promise<string | undefined>>> = {
  "20": getTooOldNode,
  "22": (folder) => getNode("22.23.3", folder),
  "24": async () => process.execPath,
};

/** The npm that comes with each of them. */
const NPMS: Readonly<Record<string, string>> = { "20": "10.8.2", "22": "10.9.4", "24": "11.6.2" };

/** What this machine can try: only root can be two users, and npm has other Nodes for Linux only. */
const LINES = IS_WHOLE ? Object.keys(NODES) : ["20"];
const USERS = IS_WHOLE && CAN_CHOOSE_USER ? ["root", "an ordinary user"] : ["an ordinary user"];

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-nodes-"));
  await chmod(folder, 0o755);
});

afterAll(() => rm(folder, { recursive: true, force: true }), WITHIN_MS);

const machines = LINES.flatMap((line) => USERS.map((user) => ({ line, user })));

describe.each(machines)("a machine with Node $line, npm and git alone, as $user", (one) => {
  let machine: Machine;

  beforeAll(async () => {
    const node = await NODES[one.line]!(folder);
    if (node === undefined) throw new Error(`There is no Node ${one.line} for this platform.`);
    const version = NPMS[one.line]!;
    const npm = join(folder, `npm-${version}`);
    await installInto(npm, [`npm@${version}`]);
    machine = await Machine.create({
      node,
      npm: join(npm, "node_modules", "npm"),
      isRoot: one.user === "root",
    });
  }, WITHIN_MS);

  afterAll(() => machine.remove(), WITHIN_MS);

  test(
    "installs the clone, and npm says nothing that a reader would have to be told to ignore",
    async () => {
      const { code, stdout, stderr } = await machine.run("npm ci", WITHIN_MS);

      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^added \d+ packages/m);
      expect(stdout).not.toMatch(/warn|notice/i);
    },
    WITHIN_MS,
  );

  test(
    "answers after npm start",
    async () => {
      const server = machine.start("PORT=0 npm start", WITHIN_MS);
      const url = await server.until(
        (stdout) => /http:\/\/127\.0\.0\.1:\d+(?=[/\s])/.exec(stdout)?.[0],
      );

      try {
        expect((await (await connect(url)).send("hello")).text).toContain("hello");
      } finally {
        expect((await machine.interrupt(server)).stderr).toBe("");
      }
    },
    WITHIN_MS,
  );

  test(
    "passes the tests",
    async () => {
      const { code, stdout, stderr } = await machine.run(TESTS, TESTS_WITHIN_MS);

      const outcome = stdout.split("\n").slice(-40).join("\n");
      process.stdout.write(`Node ${one.line}, ${one.user}:\n${outcome}\n`);
      expect({ code, stderr }, outcome).toEqual({ code: 0, stderr: "" });
    },
    TESTS_WITHIN_MS,
  );
});

test("every machine is tried, if that is required", () => {
  if (hasPackagedNode && CAN_CHOOSE_USER) return;
  const missing =
    "Not every fresh machine is tried here: that takes Linux on x64 or arm64, and root, who can be another user";
  process.stdout.write(`${missing}\n`);
  expect(process.env["CONVOKE_TEST_REQUIRE"], missing).not.toBe("all");
});
