import { readFileSync } from "node:fs";
import { connect } from "@convoke/client";
import { expect, onTestFinished } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { type Program, start, succeed } from "../harness/program.ts";
import { needs } from "../needs.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

needs("lsof");

const ROOT = new URL("../../", import.meta.url);

/** The short form of the 20 seconds that the README takes. */
const COUNT = Number(process.env["CONVOKE_KILL_README"] ?? 250);

verifies(
  ["G2", "G3", "R42"],
  "the commands of the README print the answer once, although kill -9 ends the server in the middle",
  async () => {
    const port = await keptPort();
    const [stream, kill, serve] = readmeCommands(port);
    const cwd = new URL(".", ROOT).pathname;
    const env = { PORT: String(port), CONVOKE_DATA: temporaryFolder() };
    const sh = (command = ""): Program => start("sh", ["-c", `exec ${command}`], { cwd, env });
    const end = () => succeed("sh", ["-c", kill ?? ""], { cwd, env });
    const url = `http://127.0.0.1:${port}`;
    const isServed = () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    const first = sh(serve);
    await expect.poll(isServed, { timeout: 60_000 }).toBe(true);
    const caller = sh(stream);
    const remote = await connect(url);
    const written = async () => {
      const [task] = (await remote.list({ includeArtifacts: true })).tasks;
      return JSON.stringify(task?.artifacts ?? []);
    };
    await expect.poll(written, { timeout: 60_000 }).toContain("60 ");

    await end();
    await first.ended;
    sh(serve);
    onTestFinished(async () => void (await end()));

    const { code, stdout, stderr } = await caller.ended;
    const counted = Array.from({ length: COUNT }, (_, place) => place + 1).join(" ");
    expect(stdout).toBe(`${counted}\n`);
    expect(code).toBe(0);
    expect(stderr).toMatch(/continues after event \d+/);
  },
  120_000,
);

/** The commands as they are printed, at another port and with a smaller number. */
function readmeCommands(port: number): readonly string[] {
  const readme = readFileSync(new URL("README.md", ROOT), "utf8");
  const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block);
  const block = blocks.find((one) => one.includes("slow 1000")) ?? "";
  const lines = block.trim().split("\n");
  return lines.map((line) =>
    line
      .replace(/ +# .*$/, "")
      .replaceAll("3000", String(port))
      .replace("slow 1000", `slow ${COUNT}`),
  );
}
