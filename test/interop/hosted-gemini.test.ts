import { openApprovals } from "@convoke/protocol";
import { type RemoteAgent, connect } from "convoke";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { MortalServer } from "../harness/mortal-server.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { geminiEnvironment, geminiHome } from "./gemini/gemini-cli.ts";
import { installGemini } from "./gemini/install-gemini.ts";
import { ScriptedModel, callsTool, hangs, says } from "./gemini/scripted-model.ts";

/** A download of 21 MB, once. */
const INSTALL_MS = 150_000;

/** Two servers and two processes of the CLI are started; on a busy machine that takes long. */
const RUN_MS = 180_000;

beforeAll(async () => void (await installGemini()), INSTALL_MS);

/** The processes of the CLI that work in a folder. */
function processesIn(folder: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return (
        command.includes("--acp") && readFileSync(`/proc/${pid}/environ`, "utf8").includes(folder)
      );
    } catch {
      return false;
    }
  });
}

test(
  "the Gemini CLI is an agent: it streams, asks before it writes, survives the death of its host, and is canceled",
  async () => {
    const workspace = temporaryFolder();
    const home = await geminiHome();
    const file = join(workspace, "a.txt");
    const writes = callsTool("write_file", { file_path: file, content: "hello\n" });
    const model = await ScriptedModel.start(
      says("Good morning."),
      writes,
      // The model is asked again after the restart, and makes the same call.
      writes,
      says("It is written."),
      hangs,
    );
    const hosted = {
      program: await installGemini(),
      workspace,
      env: geminiEnvironment(home, model.url),
    };
    const server = new MortalServer({
      script: new URL("./gemini/hosted-server.ts", import.meta.url),
      env: () => ({ HOSTED_GEMINI: JSON.stringify(hosted) }),
    });
    onTestFinished(() => server.close());
    const remote = async (): Promise<RemoteAgent> => connect(await server.url(), { cache: false });
    await server.start();

    const conversation = (await remote()).conversation();
    const greeting = conversation.say("Hello");
    const chunks: string[] = [];
    for await (const chunk of greeting.text) chunks.push(chunk);
    expect(chunks.join("")).toBe("Good morning.");

    const asked = await conversation.say("Write a.txt").result;
    const [approval] = openApprovals(asked.task!, new Date());
    expect(approval).toMatchObject({
      title: "Writing to a.txt",
      preview: { kind: "diff", path: "a.txt", after: "hello\n" },
    });
    expect(asked.question?.text).toContain("+hello");
    expect(processesIn(home)).toHaveLength(1);

    const [before] = processesIn(home);
    await server.restart();

    await vi.waitFor(() => expect(processesIn(home)).not.toContain(before), RUN_MS / 4);
    expect(existsSync(file)).toBe(false);
    const { state } = conversation;
    const later = (await remote()).conversation({ state });
    const written = await later.say("approve").result;
    expect(written.text).toContain("It is written.");
    expect(written.task).toMatchObject({ id: asked.task!.id, status: { state: "completed" } });
    expect(readFileSync(file, "utf8")).toBe("hello\n");

    const endless = later.say("Think");
    const ended = endless.result;
    await vi.waitFor(() => expect(model.hanging).toBe(1), RUN_MS / 4);
    expect((await endless.cancel())?.status.state).toBe("canceled");
    await ended;
    expect(model.surprises).toEqual([]);
  },
  RUN_MS,
);
