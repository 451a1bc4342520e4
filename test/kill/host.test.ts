import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { jsonRpcSpeaker } from "../conformance/speakers.ts";
import { writeAgent } from "../start/agent-file.ts";
import { type ServedProcess, serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

const NAMES = ["Ann", "Bob", "Cleo"];

/** In the first process it works for ever; in the next one it says who has resumed it. */
function writeResumer(folder: string, name: string): void {
  const body = `
    export default defineAgent({
      name: "${name}",
      description: "Resumes.",
      async *run({ text, step }) {
        yield (await step("begin", () => "${name} began ")) + text + ", ";
        if (process.env.PHASE === "first") await new Promise(() => undefined);
        yield "${name} ended it";
      },
    });`;
  writeAgent(folder, body, `${name.toLowerCase()}.mts`);
}

const speakerTo = ({ url }: ServedProcess, name: string): Speaker =>
  jsonRpcSpeaker({ url: `${url}agents/${name.toLowerCase()}/` }, "1.0");

verifies(
  "G3",
  "after a kill of a server with a folder of agents, each agent resumes its own tasks",
  async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, "agents"));
    for (const name of NAMES) writeResumer(join(cwd, "agents"), name);
    mkdirSync(join(cwd, ".convoke", "bob"), { recursive: true });
    writeFileSync(join(cwd, ".convoke", "bob", "tasks.db"), "");
    const args = ["serve", "agents"];
    const first = await serveConvoke({ cwd, args, env: { PHASE: "first" } });
    const begun = new Map<string, string>();
    for (const name of NAMES) {
      const sent = aRequest(`the work of ${name}`, { blocking: false });
      begun.set(name, (await speakerTo(first, name).sendTask(sent)).id);
    }
    const shows = async (server: ServedProcess, text: string): Promise<void> => {
      for (const [name, taskId] of begun) {
        const read = async () => JSON.stringify(await speakerTo(server, name).get({ taskId }));
        await expect.poll(read, { timeout: 20_000 }).toContain(text.replaceAll("NAME", name));
      }
    };
    await shows(first, "NAME began the work of NAME, ");

    await first.program.kill();
    const second = await serveConvoke({ cwd, args });

    await shows(second, "NAME began the work of NAME, NAME ended it");
    const { stdout: banner } = first.program;
    expect(banner).toContain("3 agents at ");
    for (const name of NAMES) expect(banner).toContain(`${first.url}agents/${name.toLowerCase()}`);
    expect(banner).toContain("start it with --data .convoke/bob");
    expect(second.program.stdout).toContain("3 resumed");
    expect(second.program.stdout).not.toContain("--data .convoke/bob");
  },
  120_000,
);
