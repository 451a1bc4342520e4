import { connect } from "convoke";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { textOf } from "@convoke/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksOf } from "../docs/docs-pages.ts";
import { verifies } from "../verifies.ts";
import { initProject, installProject, shareModules, streamFrom } from "./new-project.ts";
import { installInto, npm } from "./npm.ts";
import { describePackages } from "./packages.suite.ts";
import { packWorkspaces } from "./packages.ts";
import { type Program, run, start, succeed } from "../harness/program.ts";
import {
  OTHER_RUNTIMES,
  OTHER_SUPPORTED,
  getNode,
  getRuntime,
  getTooOldNode,
  hasPackagedNode,
} from "./runtimes.ts";
import { foldOf, framesOf } from "./stream-frames.ts";

/**
 * Building, installing and starting programs takes long on a busy machine; nothing here measures
 * time.
 */
const WITHIN_MS = 120_000;

const AGENT = `
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent } from "convoke";

export default defineAgent({
  name: "Counter",
  description: "Counts to the number that you say.",
  async *run({ text, signal }) {
    for (let n = 1; n <= Number(text); n++) {
      yield \`\${n} \`;
      await sleep(20, undefined, { signal });
    }
  },
});
`;

/** Calls the agent in process, and over a port with the given storage. */
const SAY = `
import { connect, serve } from "convoke";
import { say } from "convoke/testing";
import agent from "./agent.ts";

const { text, task } = await say(agent, "3");
const server = await serve(agent, { port: 0, data: process.argv[2] });
const answer = await (await connect(server.url)).send("2");
await server.close();
console.log(JSON.stringify([text, task.status.state, answer.text]));
`;

const SAID = ["1 2 3 ", "completed", "1 2 "];

let folder: string;
/** A folder in which a user has installed Convoke and written an agent. */
let app: string;
let tarballs: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-pack-"));
  app = join(folder, "app");
  tarballs = await packWorkspaces(folder);
  await installInto(app, tarballs);
  await writeFile(join(app, "agent.ts"), AGENT);
  await writeFile(join(app, "say.js"), SAY);
}, WITHIN_MS);

afterAll(() => rm(folder, { recursive: true, force: true }), WITHIN_MS);

/** `npm run test:pack` tests every Node and every template. */
const IS_WHOLE = process.env["CONVOKE_PACK_NODES"] === "all";

describe.each(nodes())("installed, on Node $version", ({ version, get }) => {
  let node: string;

  beforeAll(async () => {
    node = await get();
  }, WITHIN_MS);

  verifies(
    ["G2", "G3", "R42"],
    "a stream that kill -9 cut resumes after a restart",
    async () => {
      const data = join(folder, `data-${version}`);
      const first = await serve(node, data);
      const cut = start(convoke(), ["stream", first.url, "500", "--json", "--no-reconnect"], {
        cwd: app,
        node,
      });
      await cut.until((stdout) => (framesOf(stdout).length >= 8 ? true : undefined));

      await first.program.kill("SIGKILL");

      const { code, stdout, stderr } = await cut.ended;
      const before = framesOf(stdout);
      const taskId = foldOf(before).id;
      const after = before.at(-1)?.id ?? "";
      expect(code).toBe(3);
      expect(stderr).toContain(`--resume ${taskId} --after ${after}`);

      const second = await serve(node, data);
      const resume = (id: string) =>
        run(convoke(), ["stream", second.url, "--resume", taskId, "--after", id, "--json"], {
          cwd: app,
          node,
        });
      const rest = await resume(after);

      const frames = [...before, ...framesOf(rest.stdout)];
      const folded = foldOf(frames);
      const stored = await (await connect(second.url)).get(taskId);
      expect(second.program.stdout).toContain("1 ended");
      expect(rest.code).toBe(1);
      expect(frames).toEqual(framesOf((await resume("0")).stdout));
      expect(frames.at(-1)?.event).toMatchObject({
        kind: "status-update",
        status: { state: "failed" },
        metadata: { reason: "interrupted" },
      });
      expect(stored).toEqual(folded);
      expect(textOf(folded)).toMatch(/^1 2 3 /);
      expect((await second.program.kill("SIGTERM")).code).toBe(0);
    },
    WITHIN_MS,
  );

  test(
    "an agent is imported and called in process",
    async () => {
      const stdout = await succeed("node", ["say.js", "memory"], { cwd: app, node });

      expect(JSON.parse(stdout)).toEqual(SAID);
    },
    WITHIN_MS,
  );
});

/** `npm run test:pack` also tries the runtimes that are not Node. */
const runtimes = IS_WHOLE && hasPackagedNode && process.arch === "x64" ? OTHER_RUNTIMES : [];

describe.each(runtimes)("installed, on $name $version", (runtime) => {
  let binary: string;

  beforeAll(async () => {
    binary = await getRuntime(runtime, folder);
  }, WITHIN_MS);

  test.each(runtime.stores)(
    "an agent is called in process, and served from a store of the kind %s",
    async (store) => {
      const data = store === "memory" ? store : join(folder, `data-${runtime.name}`);

      const stdout = await succeed(binary, [...runtime.args, "say.js", data], { cwd: app });

      expect(JSON.parse(stdout)).toEqual(SAID);
    },
    WITHIN_MS,
  );
});

describePackages({ app: () => app, folder: () => folder, tarballs: () => tarballs });

// If npm has no other Node, the packages are tested only on this one, and a run that requires
// everything fails.
test("every supported Node is tested, if that is required", () => {
  if (hasPackagedNode) return;
  const missing =
    "Other lines of Node are not tried here: npm has them for Linux on x64 and arm64 only";
  process.stdout.write(`${missing}\n`);
  expect(process.env["CONVOKE_TEST_REQUIRE"], missing).not.toBe("all");
});

test(
  "the console is in the package: the page of a clone, byte for byte, without what bundles it",
  async () => {
    const { url } = await serve(process.execPath, join(folder, "data-console"));
    const html = await (await fetch(`${url}/console`)).text();
    const clone = join(folder, "page-of-clone");
    const script = new URL("../../packages/console/scripts/build-page.ts", import.meta.url);
    await succeed(process.execPath, [fileURLToPath(script), clone], { cwd: folder });

    const names = (await readdir(clone)).filter((name) => /\.(?:js|css|svg|txt)$/.test(name));
    for (const name of names) {
      const response = await fetch(`${url}/console/assets/${name}`);
      expect(response.status, name).toBe(200);
      expect(await response.text(), name).toBe(await readFile(join(clone, name), "utf8"));
    }
    expect(html).toBe(
      (await readFile(join(clone, "index.html"), "utf8")).replaceAll("%BASE_PATH%", ""),
    );
    expect(existsSync(join(app, "node_modules", "rolldown"))).toBe(false);
    expect(existsSync(join(app, "node_modules", "preact"))).toBe(false);
  },
  WITHIN_MS,
);

test(
  "a Node that is too old gets a clear error in one line",
  async ({ skip }) => {
    const node = await getTooOldNode(folder);
    if (node === undefined) return skip("there is no Node below 22 for this platform");

    const { code, stdout, stderr } = await run(convoke(), ["--version"], { cwd: app, node });

    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^Convoke needs Node 22\.19 or newer, but this is Node \d+\.\d+\.\d+\./);
    expect(stderr.trimEnd()).not.toContain("\n");
  },
  WITHIN_MS,
);

/** The templates are tested by `npm run test:pack`: each is a project that npm installs. */
if (IS_WHOLE)
  describe("a new project", () => {
    test(
      "streams its first answer soon after convoke init and npm install",
      async () => {
        const begin = performance.now();
        await initProject({ convoke: convoke(), folder: join(folder, "plain"), template: "plain" });
        await installProject(join(folder, "plain"), tarballs);

        const { text, chunks } = await streamFrom(join(folder, "plain"), "hello world");

        const seconds = ((performance.now() - begin) / 1000).toFixed(1);
        process.stdout.write(`from convoke init to the first streamed answer: ${seconds} s\n`);
        expect(text).toBe("You said: hello world");
        expect(chunks).toBeGreaterThan(2);
        await checkProject(join(folder, "plain"));
      },
      WITHIN_MS,
    );

    const templates = [
      ["tools", "find_order(order=1001)", "lamp"],
      ["planner", "trains(message=Rome) and weather(message=Rome)", "21 degrees"],
    ] as const;

    test.each(templates)(
      "of the template %s passes its test, type-checks and answers",
      async (template, message, answer) => {
        const project = join(folder, template);
        await initProject({ convoke: convoke(), folder: project, template });
        await shareModules(join(folder, "plain"), project);

        const { text, chunks } = await streamFrom(project, message);

        expect(text).toContain(answer);
        expect(chunks).toBeGreaterThan(1);
        await checkProject(project);
      },
      WITHIN_MS,
    );

    test(
      "becomes an agent of its own by the files of the quick start",
      async () => {
        const project = join(folder, "own");
        const begin = performance.now();
        await initProject({ convoke: convoke(), folder: project, template: "tools" });
        await installProject(project, tarballs);
        const [agent = "", ownTest = ""] = blocksOf("docs/quick-start.md", "ts");
        await writeFile(join(project, "agent.ts"), agent);
        await writeFile(join(project, "agent.test.ts"), ownTest);

        await checkProject(project);
        const { text } = await streamFrom(project, "send_invoice(customer=Ann, euros=20)");

        const seconds = ((performance.now() - begin) / 1000).toFixed(1);
        process.stdout.write(`from convoke init to an own agent with a test: ${seconds} s\n`);
        expect(text).toContain("Ann gets an invoice for 20 euros.");
      },
      WITHIN_MS,
    );

    /** The scripts of a project fail if its test or its types do. */
    async function checkProject(project: string): Promise<void> {
      expect(await npm(["test"], project)).toMatch(/pass [12]\n/);
      await npm(["run", "typecheck"], project);
    }
  });

/** The Nodes to test: the current one, and with `npm run test:pack` the other supported lines. */
function nodes(): readonly { readonly version: string; readonly get: () => Promise<string> }[] {
  const running = { version: process.versions.node, get: async () => process.execPath };
  if (!IS_WHOLE || !hasPackagedNode) return [running];
  return [
    running,
    ...OTHER_SUPPORTED.map((version) => ({ version, get: () => getNode(version, folder) })),
  ];
}

function convoke(): string {
  return join(app, "node_modules", ".bin", "convoke");
}

/** Starts the user's agent with the installed command, as a user does. */
async function serve(node: string, data: string): Promise<{ program: Program; url: string }> {
  const program = start(convoke(), ["serve", "agent.ts"], {
    cwd: app,
    node,
    env: { PORT: "0", CONVOKE_DATA: data },
  });
  const url = await program.until((stdout) => /http:\/\/[\d.]+:\d+/.exec(stdout)?.[0]);
  return { program, url };
}
