import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { V03, taskOf } from "../kill/logs.ts";
import { WireClient } from "../wire/wire-client.ts";
import { writeAgent } from "./agent-file.ts";
import { serveConvoke } from "./convoke-process.ts";
import { holderOf } from "./holder-of.ts";
import { temporaryFolder } from "./temporary-folder.ts";

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s reaches the server itself, which leaves nothing behind",
  async (signal) => {
    const cwd = temporaryFolder();
    const data = join(cwd, ".convoke", "convoke-demo");
    const env = { PORT: String(await keptPort()) };
    const { program, port } = await serveConvoke({ cwd, env });
    const holder = holderOf(data);

    const { code, stderr } = await program.kill(signal);

    expect(holder).toEqual({ pid: program.pid, port });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(existsSync(join(data, "holder.json"))).toBe(false);
    expect(existsSync(join(data, "tasks.db-wal"))).toBe(false);
    const next = createServer().listen(port, "127.0.0.1");
    await once(next, "listening");
    next.close();
  },
);

test.each([
  ["observes its signal", "await sleep(600_000, undefined, { signal });"],
  ["ignores its signal", "await sleep(600_000);"],
  ["never stops writing", 'for (;;) { yield "more "; await new Promise(setImmediate); }'],
])(
  "a stop does not wait for an agent that %s, and the next start ends the task",
  async (_, body) => {
    const cwd = temporaryFolder();
    const agent = writeAgent(
      cwd,
      `import { setTimeout as sleep } from "node:timers/promises";
       export default defineAgent({
         name: "Worker",
         description: "Works for a long time.",
         async *run({ signal }) { yield "begun "; ${body} },
       });`,
    );
    const args = ["serve", agent];
    const env = { CONVOKE_DRAIN_MS: "100" };
    const first = await serveConvoke({ cwd, args, env });
    const stream = await new WireClient(first, V03).stream("work");
    const begun = await stream.take(3);

    const { code, stderr } = await first.program.kill("SIGTERM");

    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^[^\n]*took longer than the drain and was cut[^\n]*"work":\["the run"\][^\n]*\n$/,
    );
    const second = await serveConvoke({ cwd, args });
    const { status } = await new WireClient(second, V03).get(taskOf(begun, V03).id);
    expect(status.state).toBe("failed");
    expect(second.program.stdout).toContain("1 ended");
  },
);
