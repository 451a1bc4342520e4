import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Modules that open connections, or that re-export something that does. */
const MODULES = [
  ...["http", "https", "http2", "net", "tls", "dns", "dns/promises", "dgram", "module"].flatMap(
    (name) => [`node:${name}`, name],
  ),
  "undici",
  "ws",
  "node-fetch",
  "axios",
  "got",
  "eventsource",
  "@grpc/grpc-js",
];

const GLOBALS = ["fetch", "WebSocket", "EventSource", "XMLHttpRequest"];

/**
 * The linter knows scopes and types: a parameter named `fetch` or a type from `node:net` is not a
 * connection.
 */
const CONFIG = {
  plugins: ["typescript"],
  categories: { correctness: "off" },
  rules: {
    "typescript/no-restricted-imports": [
      "error",
      { paths: MODULES.map((name) => ({ name, allowTypeImports: true })) },
    ],
    "no-restricted-globals": ["error", ...GLOBALS],
    "no-restricted-properties": [
      "error",
      ...["globalThis", "window", "self"].flatMap((object) =>
        GLOBALS.map((property) => ({ object, property })),
      ),
      { object: "process", property: "getBuiltinModule" },
    ],
  },
};

export interface Opener {
  readonly file: string;
  readonly what: string;
}

/** What in the files could open a connection, without tests and their helpers. */
export async function findOpeners(folders: readonly string[], cwd: string): Promise<Opener[]> {
  const scratch = await mkdtemp(join(tmpdir(), "convoke-openers-"));
  try {
    const config = join(scratch, "oxlint.json");
    await writeFile(config, JSON.stringify(CONFIG));
    const flags = ["--config", config, "--disable-nested-config", "--format", "json"];
    const { diagnostics } = JSON.parse(await lint([...flags, ...folders], cwd)) as LintReport;
    return diagnostics
      .filter(({ filename }) => !/\.(test|suite)\.ts$/.test(filename))
      .map(({ filename, message }) => ({ file: filename, what: message }));
  } finally {
    await rm(scratch, { recursive: true });
  }
}

interface LintReport {
  readonly diagnostics: readonly { readonly filename: string; readonly message: string }[];
}

function lint(args: readonly string[], cwd: string): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve("oxlint/package.json");
  const program = join(dirname(manifest), "bin", "oxlint");
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...args], { cwd, maxBuffer: 1e8 }, (error, stdout) => {
      // It exits with 1 if it found something, which is not a failure here.
      if (stdout.startsWith("{")) resolve(stdout);
      else reject(error ?? new Error(stdout));
    });
  });
}
