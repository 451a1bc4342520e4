import { connect } from "convoke";
import { chmod, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { PAGES, blocksOf } from "../docs/docs-pages.ts";
import { installProject } from "../harness/install-project.ts";
import { keptPort } from "../harness/kept-port.ts";
import { run, start } from "../harness/program.ts";
import { needs } from "../needs.ts";
import { type BuiltStage, buildDockerfile } from "./dockerfile.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TOOLS = join(ROOT, "scripts", "package-tools");

/** Building and installing takes long on a busy machine; nothing here measures time. */
const WITHIN_MS = 600_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-deploy-"));
  // Another user has to reach what is in it.
  await chmod(folder, 0o755);
});

afterAll(() => rm(folder, { recursive: true, force: true }), WITHIN_MS);

/** The user `node` of the image. Only root can become another user. */
const NODE_USER = process.getuid?.() === 0 ? 1000 : undefined;

describe("the Dockerfile, run step by step without Docker", () => {
  let image: BuiltStage;

  beforeAll(async () => {
    image = await buildDockerfile({ context: ROOT, into: folder, ownerId: NODE_USER });
  }, WITHIN_MS);

  test(
    "serves an agent as a user who can write to the volume only, is healthy, and stops in order",
    async () => {
      const port = String(await keptPort());
      const data = join(image.root, "data");
      const env = { ...image.env, PORT: port, CONVOKE_DATA: data, CONVOKE_TOKEN: "a-token" };
      await writeFile(join(image.workdir, "agent.ts"), AGENT);

      const server = start(...asUser([...image.entrypoint, "serve", "agent.ts"]), {
        cwd: image.workdir,
        env,
      });
      await server.until((stdout) => stdout.includes("Type ") || undefined);
      const remote = await connect(`http://127.0.0.1:${port}`, { token: "a-token" });
      const { text } = await remote.send("who");
      const health = await run(...asUser(image.healthcheck), { cwd: image.workdir, env });

      expect(image.user).toBe("node");
      expect(JSON.parse(text)).toEqual({
        user: NODE_USER ?? process.getuid!(),
        canWrite: !NODE_USER,
      });
      expect(health.code).toBe(0);
      expect(await readdir(data)).toContain("tasks.db");
      expect((await server.kill("SIGTERM")).code).toBe(0);
      expect((await run(...asUser(image.healthcheck), { cwd: image.workdir, env })).code).toBe(1);
    },
    WITHIN_MS,
  );

  test(
    "does not start without authentication, because it listens on every address",
    async () => {
      const env = { ...image.env, PORT: "0", CONVOKE_DATA: "memory" };
      const command = asUser([...image.entrypoint, ...image.command]);

      const { code, stderr } = await run(...command, { cwd: image.workdir, env });

      expect(code).toBe(5);
      expect(stderr).toContain("CONVOKE_TOKEN");
    },
    WITHIN_MS,
  );

  test("has neither sources nor development dependencies in its last stage", () => {
    const installed = globSync("node_modules/{convoke,@convoke/*}/{src,dist}", {
      cwd: image.workdir,
    });

    expect(installed.filter((path) => path.endsWith("/dist")).length).toBeGreaterThan(5);
    expect(installed.filter((path) => path.endsWith("/src"))).toEqual([]);
    expect(globSync("node_modules/{vitest,typescript}", { cwd: image.workdir })).toEqual([]);
  });

  /** A command of the image, as its user, with the Node that runs the tests. */
  function asUser([program, ...args]: readonly string[]): [string, string[]] {
    const command = [program === "node" ? process.execPath : program!, ...args];
    if (NODE_USER === undefined) return [command[0]!, command.slice(1)];
    const ids = [`--reuid=${NODE_USER}`, `--regid=${NODE_USER}`, "--clear-groups"];
    return ["setpriv", [...ids, ...command]];
  }
});

const AGENT = `
import { accessSync, constants } from "node:fs";
import { defineAgent } from "convoke";

export default defineAgent({
  name: "Who",
  description: "Says as whom it runs, and whether it can change its program.",
  run: () => JSON.stringify({ user: process.getuid(), canWrite: canWrite("agent.ts") || canWrite(".") }),
});

function canWrite(path) {
  try { accessSync(path, constants.W_OK); return true; } catch { return false; }
}
`;

describe("the manifests", () => {
  test(
    "of Kubernetes, Compose, Prometheus and the forge, also those in the docs, match the schemas",
    async () => {
      await installProject(TOOLS);
      const files = globSync(
        [
          "deploy/{kubernetes,prometheus}/*.yaml",
          "examples/**/compose.yaml",
          ".github/workflows/*.yml",
        ],
        { cwd: ROOT },
      );
      expect(files.length).toBeGreaterThanOrEqual(9);
      const blocks = await writeBlocks("yaml");
      expect(blocks.length).toBeGreaterThanOrEqual(5);

      const { code, stdout, stderr } = await run(
        process.execPath,
        [join(TOOLS, "check-manifests.js"), ...files, ...blocks],
        { cwd: ROOT },
      );

      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    },
    WITHIN_MS,
  );

  test("give a server more time to stop than it needs to drain", async () => {
    const deployment = await readFile(join(ROOT, "deploy/kubernetes/deployment.yaml"), "utf8");
    const unit = await readFile(join(ROOT, "deploy/systemd/convoke.service"), "utf8");
    const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

    const grace = numberIn(deployment, /terminationGracePeriodSeconds: (\d+)/);
    const pause = numberIn(deployment, /sleep:\s+seconds: (\d+)/);
    const drain = numberIn(deployment, /CONVOKE_DRAIN_MS\s+value: "(\d+)"/) / 1000;
    expect(grace).toBeGreaterThan(pause + drain);
    // The default of CONVOKE_DRAIN_MS.
    expect(numberIn(unit, /TimeoutStopSec=(\d+)/)).toBeGreaterThan(10);
  });

  test("set only variables that are documented", async () => {
    const settings = await readFile(join(ROOT, "docs/guide/settings.md"), "utf8");
    const files = globSync(["deploy/**/*.{yaml,service,conf}", "Dockerfile"], { cwd: ROOT });
    const texts = await Promise.all(files.map((file) => readFile(join(ROOT, file), "utf8")));

    const named = texts.flatMap(
      (text) => text.match(/\b(CONVOKE_[A-Z_]+|PUBLIC_URL|BIND_HOST)\b/g) ?? [],
    );

    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("the nginx configurations", () => {
  const nginx = needs("nginx");

  test("of the deployment and of the docs are accepted by nginx", async () => {
    const { cert, key } = selfSigned();
    await writeFile(join(folder, "cert.pem"), cert);
    await writeFile(join(folder, "key.pem"), key);
    const files = [join(ROOT, "deploy/nginx/convoke.conf"), ...(await writeBlocks("nginx"))];
    expect(files.length).toBeGreaterThanOrEqual(2);

    for (const file of files) {
      const local = (await readFile(file, "utf8"))
        .replace(/ssl_certificate \S+;/, `ssl_certificate ${folder}/cert.pem;`)
        .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${folder}/key.pem;`)
        // nginx before 1.25.1 does not know this line.
        .replace("listen 443 ssl;\n  http2 on;", `listen 127.0.0.1:${await keptPort()} ssl http2;`);
      const config = join(folder, "nginx.conf");
      await writeFile(config, `events {}\npid ${folder}/pid;\nhttp {\n${local}\n}\n`);

      const args = ["-t", "-p", folder, "-c", config, "-e", "stderr"];
      const { stderr } = await run(nginx(), args, { cwd: folder });

      expect(stderr, file).toContain("test is successful");
    }
  });
});

/** Writes the code blocks of the docs in one language to files, whose names say where they come from. */
async function writeBlocks(language: string): Promise<readonly string[]> {
  const blocks = PAGES.filter((page) => page.startsWith("docs/")).flatMap((page) =>
    blocksOf(page, language).map((code, place) => ({
      file: join(folder, `${page.replaceAll("/", "-")}-${place + 1}.${language}`),
      code,
    })),
  );
  await Promise.all(blocks.map(({ file, code }) => writeFile(file, code)));
  return blocks.map(({ file }) => file);
}
