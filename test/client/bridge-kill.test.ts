import { type RemoteAgent, connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { ScriptProcess } from "../harness/script-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { logOf } from "./cut-run.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { worker } from "./worker-agent.ts";

const SCRIPT = new URL("./bridge-server.ts", import.meta.url);
const VERSIONS = [
  { inner: "0.3", outer: "1.0" },
  { inner: "1.0", outer: "0.3" },
] as const;

/** A bridge in its own process that can be killed and restarts at the same address. */
async function aMortalBridge({ inner, outer }: (typeof VERSIONS)[number]) {
  const logger = createJsonLogger("error", (line) => process.stderr.write(line));
  const server = await serve(worker, { port: 0, data: "memory", logger });
  const proxy = new CuttingProxy();
  const url = await proxy.open();
  const env = {
    CONVOKE_INNER: server.url,
    CONVOKE_VERSION: inner,
    CONVOKE_DATA: temporaryFolder(),
    CONVOKE_PUBLIC: url,
  };
  let bridge: ScriptProcess;
  const begin = async (): Promise<void> => {
    bridge = new ScriptProcess(SCRIPT, env);
    proxy.target = new URL(await bridge.ready);
  };
  onTestFinished(async () => {
    await bridge.kill();
    await proxy.close();
    await server.close();
  });
  await begin();
  return {
    remote: await connect(url, { version: outer }),
    /** The agent behind the bridge. */
    behind: await connect(server.url, { version: "1.0" }),
    killAndBegin: async () => {
      await bridge.kill();
      await begin();
    },
  };
}

async function tasksOf(remote: RemoteAgent) {
  return (await remote.list({ includeArtifacts: true })).tasks;
}

describe.each(VERSIONS)("a bridge from $outer to $inner that is killed", (versions) => {
  test("in the middle of a stream continues with the same remote task", async () => {
    const { remote, behind, killAndBegin } = await aMortalBridge(versions);
    const run = remote.stream("count 150");
    const got = [];
    const kills = [25, 60];
    for await (const event of run) {
      got.push({ id: run.lastEventId, event });
      if (got.length === kills[0]) {
        kills.shift();
        await killAndBegin();
      }
    }
    const { text } = await run.result;

    expect(kills).toEqual([]);
    expect(text).toBe(Array.from({ length: 150 }, (_, place) => place + 1).join(" "));
    expect(got).toEqual(await logOf(remote, run.taskId ?? ""));
    expect(await tasksOf(behind)).toHaveLength(1);
    const words = got.flatMap(({ event }) =>
      event.kind === "status-update" && event.status.message ? [event.status.message] : [],
    );
    const said = words.map(({ parts }) => parts.map((part) => "text" in part && part.text).join());
    expect(said).toEqual(Array.from({ length: 15 }, (_, place) => `at ${place * 10 + 1}`));
  });

  test("while it waits for an answer accepts the answer afterwards", async () => {
    const { remote, behind, killAndBegin } = await aMortalBridge(versions);
    const asked: string[] = [];
    const conversation = remote.conversation({
      onQuestion: async ({ text }) => {
        asked.push(text);
        await killAndBegin();
        return asked.length === 1 ? "Ann" : "York";
      },
    });

    const { text, task } = await conversation.say("ask").result;

    expect(asked).toEqual(["Who are you?", "Where, Ann?"]);
    expect(text).toBe("Well. Ann of York");
    expect(task?.status.state).toBe("completed");
    const [only, ...more] = await tasksOf(behind);
    expect(more).toEqual([]);
    expect(only?.status.state).toBe("completed");
  });
});
