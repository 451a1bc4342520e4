/**
 * Writes the output of `convoke check` for our own server and for both official SDKs to
 * `docs/check/`, so that the guide shows real output. Ports, ids and times are normalised: a second
 * run changes nothing unless a server or a probe has changed.
 */
import { writeFile } from "node:fs/promises";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "convoke";
import { runCli } from "../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { checkedAgent } from "../test/check/check-agent.ts";
import { startSdkV03 } from "../test/check/sdk-v03-server.ts";
import { startSdkV1 } from "../test/check/sdk-v1-server.ts";

interface Output {
  readonly file: string;
  readonly title: string;
  /** What was checked, in a sentence or two. */
  readonly about: string;
  readonly start: () => Promise<Checked>;
}

interface Checked {
  readonly url: string;
  /** The address of gRPC, if it has its own port. */
  readonly grpcOrigin?: string;
  close(): Promise<void>;
}

const OUTPUTS: readonly Output[] = [
  {
    file: "convoke.md",
    title: "Convoke",
    about: "Our own server with its tasks in memory, on all bindings in both versions.",
    start: () => {
      const logger = createJsonLogger("silent", () => undefined);
      return serve(checkedAgent, { port: 0, data: "memory", logger });
    },
  },
  {
    file: "sdk-1.3.0.md",
    title: "@a2a-js/sdk 1.3.0",
    about:
      "The official SDK on Express, on all bindings, with its layer for 0.3 and its check of " +
      "input modes switched on (`test/check/sdk-v1-server.ts`).",
    start: startSdkV1,
  },
  {
    file: "sdk-0.3.14.md",
    title: "@a2a-js/sdk 0.3.14",
    about:
      "The last official SDK of 0.3 on Express, on all bindings (`test/check/sdk-v03-server.ts`).",
    start: startSdkV03,
  },
];

const HABITS = ["--slow", "slow", "--ask", "ask"];
const folder = new URL("../docs/check/", import.meta.url);

// Both SDKs log rejected requests to the console.
const { log } = console;
for (const name of ["log", "info", "warn", "error"] as const) console[name] = () => undefined;

for (const { file, title, about, start } of OUTPUTS) {
  const server = await start();
  const report = await check(server);
  await server.close();
  const command = ["convoke check http://127.0.0.1:30000", ...allowed(server).slice(0, 1)];
  const shown = server.grpcOrigin === undefined ? [] : ["http://127.0.0.1:30001"];
  const line = [...command, ...shown, ...HABITS].join(" ");
  const page = `# ${title}\n\n${about}\n\n\`\`\`text\n$ ${line}\n\n${normalised(report, server)}\`\`\`\n`;
  await writeFile(new URL(file, folder), page);
  log(`${file}: ${report.trimEnd().split("\n").at(-1)}`);
}

async function check(server: Checked): Promise<string> {
  const { stdout } = await runCli(["check", server.url, ...allowed(server), ...HABITS]);
  return stdout;
}

function allowed({ grpcOrigin }: Checked): readonly string[] {
  return grpcOrigin === undefined ? [] : ["--allow-origin", grpcOrigin];
}

/**
 * Values that differ between runs, with their replacements, which have the same length inside a
 * table.
 */
function normalised(report: string, { url, grpcOrigin = url }: Checked): string {
  return (
    report
      .replaceAll(new URL(url).host, "127.0.0.1:30000")
      .replaceAll(new URL(grpcOrigin).host, "127.0.0.1:30001")
      .replaceAll(/127\.0\.0\.1:(?!3000[01])\d+/g, "127.0.0.1:30002")
      .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "<id>")
      // Express exposes its installation path in error responses.
      .replaceAll(
        /(request entity too large<br>).*…/g,
        "$1 [a stack trace with the paths of the server] …",
      )
      .replaceAll(/[\da-f-]*…/g, "…")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replaceAll(/\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT/g, "<time>")
      .replaceAll(/(?<=etag: )(W\/)?"[^"]*"/g, "<etag>")
      .replaceAll(/(?<=content-length: )\d+/g, "<length>")
  );
}
