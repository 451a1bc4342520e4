// The documentation site:
//
//     npm run docs          # at http://localhost:5173, and reloads while you write
//     npm run docs:build    # into docs/.vitepress/dist
//
// Its tools have a lockfile of their own in docs/, and are installed when they are first needed.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { installProject } from "../test/harness/install-project.ts";

const DOCS = fileURLToPath(new URL("../docs", import.meta.url));

const [command = "dev"] = process.argv.slice(2);

// The bundler of the site has its program in an optional package.
await installProject(DOCS, { keepsOptional: true });
run("tsc", ["-p", "tsconfig.json"]);
run("typedoc", ["--logLevel", "Warn"]);
run("vitepress", command === "build" ? ["build", "."] : ["dev", "."]);

function run(program: string, args: readonly string[]): void {
  const path = `${DOCS}/node_modules/.bin/${program}`;
  const { status } = spawnSync(path, args, { cwd: DOCS, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
