import { existsSync } from "node:fs";
import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { installProject } from "../harness/install-project.ts";
import { run, succeed } from "../harness/program.ts";
import { TSC, copyIn, workspaces } from "./packages.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** publint, "Are the types wrong?" and changesets. */
const TOOLS = join(ROOT, "scripts", "package-tools");

/** A liveness bound: checking the types of all packages takes a minute on a busy machine. */
const WITHIN_MS = 600_000;

export interface PackedPackages {
  /** A folder in which all packages are installed. */
  readonly app: () => string;
  /** The folder of the test. */
  readonly folder: () => string;
  readonly tarballs: () => readonly string[];
}

/** What every package that is published promises, whatever runs it. */
export function describePackages({ app, folder, tarballs }: PackedPackages): void {
  describe("the packages", () => {
    test("contain what runs, and neither sources nor tests nor a test runner", async () => {
      const modules = join(app(), "node_modules");
      const own = [join(modules, "convoke"), join(modules, "@convoke")];

      const all = (await Promise.all(own.map((path) => readdir(path, { recursive: true })))).flat();

      // The templates of `convoke init` have tests of their own.
      const files = all.filter((file) => !file.startsWith("templates"));
      const unwanted = /\.(test|suite)\.|(^|\/)src(\/|$)|tsbuildinfo|\.d\.ts\.map$/;
      expect(files.filter((file) => unwanted.test(file))).toEqual([]);
      expect(files).toContain("bin/convoke.js");
      expect(files).toContain("protocol/proto/lf.a2a.v1.proto");
      expect(existsSync(join(modules, "vitest"))).toBe(false);
    });

    test("have a licence, a README, a changelog, and say where they come from", async () => {
      const modules = join(app(), "node_modules");
      const own = await workspaces(ROOT);
      const licence = await readFile(join(ROOT, "LICENSE"), "utf8");

      expect(own.length).toBeGreaterThan(5);
      for (const { name, version, folder: source } of own) {
        const read = (file: string) => readFile(join(modules, name, file), "utf8");
        expect(await read("LICENSE"), name).toBe(licence);
        expect(await read("README.md"), name).toContain(`# ${name}\n`);
        expect(await read("CHANGELOG.md"), name).toContain(`# ${name}\n\n## ${version}\n`);
        expect(JSON.parse(await read("package.json")), name).toMatchObject({
          license: "Apache-2.0",
          homepage: "https://convoke.dev",
          bugs: { url: "https://convoke.dev/issues" },
          repository: { directory: source.slice(ROOT.length) },
          keywords: expect.arrayContaining(["a2a"]),
          publishConfig: { access: "public", provenance: true },
          engines: { node: ">=22.19" },
        });
      }
    });

    test(
      "have nothing that publint and arethetypeswrong complain about",
      async () => {
        await installProject(TOOLS);
        const check = [join(TOOLS, "check-packages.js"), ...tarballs()];

        const options = { cwd: TOOLS, timeoutMs: WITHIN_MS };
        const { code, stdout, stderr } = await run(process.execPath, check, options);

        expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
      },
      WITHIN_MS,
    );

    test("show their TypeScript in stack traces, by source maps that contain it", async () => {
      await writeFile(
        join(app(), "fails.js"),
        `import { defineAgent } from "convoke";
         try { defineAgent({ name: "", description: "Has no name." }); }
         catch (error) { console.log(error.stack); }`,
      );

      const stack = await succeed("node", ["--enable-source-maps", "fails.js"], { cwd: app() });

      expect(stack).toMatch(/@convoke\/runtime\/src\/[\w/-]+\.ts:\d+/);
      const map = join(app(), "node_modules", "convoke", "dist", "index.js.map");
      expect(JSON.parse(await readFile(map, "utf8"))).toMatchObject({
        sourcesContent: [expect.stringContaining("export")],
      });
    });

    test(
      "have types that are found from an installation",
      async () => {
        await writeFile(join(app(), "types.ts"), TYPES);
        const flags =
          "--noEmit --strict --target es2024 --module nodenext --moduleResolution nodenext";
        const files = ["types.ts", "agent.ts", "--allowImportingTsExtensions", "--types", "node"];
        // The types of Node itself are installed by the user.
        const typeRoots = ["--typeRoots", join(TSC, "..", "..", "..", "@types")];

        const { stdout } = await run(
          process.execPath,
          [TSC, ...flags.split(" "), ...files, ...typeRoots],
          { cwd: app() },
        );

        expect(stdout).toBe("");
      },
      WITHIN_MS,
    );

    test("install as many packages and megabytes as the README says, and run no script", async () => {
      const { packages, megabytes, scripts } = await installationIn(app());
      process.stdout.write(`an installation: ${packages} packages, ${megabytes} MB\n`);

      expect(scripts).toEqual([]);
      const text = await readFile(join(ROOT, "apps/convoke/README.md"), "utf8");
      const said = /adds (\d+) packages, (\d+) MB/.exec(text)?.slice(1).map(Number) ?? [];
      expect(Math.abs(said[0]! - packages)).toBeLessThanOrEqual(packages / 10);
      expect(Math.abs(said[1]! - megabytes)).toBeLessThanOrEqual(megabytes / 10);
    });

    test(
      "publish a valid OpenAPI document, the JSON Schemas of A2A and its proto files",
      async () => {
        await installProject(TOOLS);
        const names = [
          "@convoke/server/openapi.json",
          "@convoke/protocol/schema/a2a-0.3.json",
          "@convoke/protocol/schema/a2a-1.0.json",
          "@convoke/protocol/proto/a2a.v1.proto",
          "@convoke/protocol/proto/lf.a2a.v1.proto",
        ];
        const script = `for (const name of ${JSON.stringify(names)})
          console.log(new URL(import.meta.resolve(name)).pathname);`;
        await writeFile(join(app(), "contracts.js"), script);

        const found = (await succeed("node", ["contracts.js"], { cwd: app() })).trim().split("\n");
        const check = [join(TOOLS, "check-openapi.js"), found[0]!];
        const { code, stdout, stderr } = await run(process.execPath, check, { cwd: TOOLS });

        expect(found.filter((path) => !existsSync(path))).toEqual([]);
        expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
      },
      WITHIN_MS,
    );

    test(
      "get the same new version and a line in their changelog from a changeset",
      async () => {
        await installProject(TOOLS);
        const copy = copyIn(folder());
        await writeFile(
          join(copy, ".changeset", "a-change.md"),
          `---\n"@convoke/client": minor\n---\n\nStreams resume faster.\n`,
        );

        const changeset = join(TOOLS, "node_modules", ".bin", "changeset");
        await succeed(changeset, ["version"], { cwd: copy });

        const versions = (await workspaces(copy)).map(({ version }) => version);
        expect(new Set(versions).size).toBe(1);
        expect(versions).not.toContain((await workspaces(ROOT))[0]?.version);
        const changelog = await readFile(join(copy, "packages/client/CHANGELOG.md"), "utf8");
        expect(changelog).toContain(
          `## ${versions[0]}\n\n### Minor Changes\n\n- Streams resume faster.`,
        );
      },
      WITHIN_MS,
    );
  });
}

const TYPES = `
import { type AgentEvent, connect, defineAgent, serve } from "convoke";
import { say } from "convoke/testing";
import counter from "./agent.ts";

const shout = defineAgent({
  name: "Shout",
  description: "Shouts.",
  async *run({ text }) { yield text.toUpperCase(); },
});
// @ts-expect-error types that were not found would take anything
defineAgent({ name: 1, description: "A name is text.", async *run() {} });
const answer: string = (await say(counter, "3")).text;
const server = await serve(shout, { port: 0 });
const remote = await connect(server.url);
const events: AgentEvent[] = [];
for await (const event of remote.stream(answer)) events.push(event);
await server.close();
`;

/** What npm has installed in a folder. */
interface Installation {
  readonly packages: number;
  readonly megabytes: number;
  /** The packages that run a script when they are installed. */
  readonly scripts: readonly string[];
}

async function installationIn(project: string): Promise<Installation> {
  const modules = join(project, "node_modules");
  const lock = JSON.parse(await readFile(join(modules, ".package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
  };
  const packages = Object.entries(lock.packages);
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return {
    packages: packages.length,
    megabytes: Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1_000_000),
    scripts: packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name),
  };
}
