import { type RunNotice, connect } from "@convoke/client";
import { expect, onTestFinished, test } from "vitest";
import { ScriptProcess } from "../harness/script-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { type Got, logOf } from "./cut-run.ts";
import { CuttingProxy } from "./cutting-proxy.ts";

const SCRIPT = new URL("./talker-server.ts", import.meta.url);

// The other bindings and versions resume with the same code; `resume.test.ts` cuts all of them.
const WAYS = [
  { binding: "jsonrpc", version: "0.3" },
  { binding: "grpc", version: "1.0" },
] as const;

test.each(WAYS)(
  "an answer resumes across restarts of its server ($binding $version)",
  async ({ binding, version }) => {
    const proxy = new CuttingProxy();
    const url = await proxy.open();
    const env = { CONVOKE_DATA: temporaryFolder(), CONVOKE_PUBLIC: url };
    let server: ScriptProcess;
    const begin = async (): Promise<void> => {
      server = new ScriptProcess(SCRIPT, env);
      proxy.target = new URL(await server.ready);
    };
    onTestFinished(async () => {
      await server.kill();
      await proxy.close();
    });
    await begin();
    const remote = await connect(url, { bindings: [binding], version });
    const notices: RunNotice[] = [];

    // Long enough that both ends come in the middle of it, on a busy machine, too.
    const run = remote.stream("2500", { onNotice: (notice) => notices.push(notice) });
    const got: Got[] = [];
    // Once with kill -9, and once as an operator stops it.
    const ends: [number, NodeJS.Signals][] = [
      [20, "SIGKILL"],
      [100, "SIGTERM"],
    ];
    let restarting: Promise<void> | undefined;
    for await (const event of run) {
      got.push({ id: run.lastEventId, event });
      const [next] = ends;
      if (next === undefined || got.length < next[0] || restarting !== undefined) continue;
      ends.shift();
      server!.signal(next[1]);
      // The run detects by itself that the server is unavailable for a while.
      restarting = server!.ended.then(begin).finally(() => (restarting = undefined));
    }
    await restarting;

    expect(ends).toEqual([]);
    // A server that is asked to stop may have sent everything before it did.
    expect(notices.filter(({ kind }) => kind === "resumed").length).toBeGreaterThanOrEqual(1);
    expect(got).toEqual(await logOf(remote, run.taskId ?? ""));
    expect((await run.result).task).toEqual(await remote.get(run.taskId ?? ""));
    expect((await run.result).task?.status.state).toBe("completed");
  },
);
