import { once } from "node:events";
import { createServer } from "node:net";
import { connect } from "convoke";
import { describe, expect, test } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { writeAgent } from "./agent-file.ts";
import { serveConvoke, startConvoke } from "./convoke-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * Says in which process it is. Asked to wait, it stops in the middle of its answer, until another
 * process continues it.
 */
const AGENT = `
import { once } from "node:events";
export default defineAgent({
  name: "Counter", description: "Counts.",
  async *run({ text, signal, step }) {
    const pid = await step("begin", () => process.pid);
    yield pid + " ";
    if (text !== "wait") return;
    for (let n = 1; n < 10; n++) {
      yield n + " ";
      if (n === 5 && process.pid === pid) await once(signal, "abort");
    }
  },
});`;

/** A liveness bound: processes start slowly on a busy machine. */
const WITHIN = { timeout: 30_000, interval: 50 };

describe("several workers", () => {
  const databaseUrl = needsPostgres();

  test("one that is killed is replaced, while the others continue its streams and all else", async () => {
    const cwd = temporaryFolder();
    writeAgent(cwd, AGENT);
    const args = ["serve", "agent.mts", "--workers", "2", "--database", await databaseUrl()];
    const env = { PORT: String(await keptPort()) };
    const { url, port, program } = await serveConvoke({ cwd, args, env });
    const banner = program.stdout;

    const run = (await connect(url)).stream("wait");
    let text = "";
    let killed = 0;
    for await (const delta of run.text) {
      text += delta;
      if (killed !== 0 || !text.endsWith(" 5 ")) continue;
      killed = Number.parseInt(text, 10);
      process.kill(killed, "SIGKILL");
      // The connections that the system had given to the killed one are gone by now.
      await expect.poll(() => answeredBy(url), WITHIN).not.toBeUndefined();
    }

    expect(text).toBe(`${killed} 1 2 3 4 5 6 7 8 9 `);
    const others = new Set<number>();
    const seen = async (): Promise<number> => {
      const pid = await answeredBy(url);
      return (pid === undefined ? others : others.add(pid)).size;
    };
    await expect.poll(seen, WITHIN).toBe(2);
    expect(others).not.toContain(killed);
    const told = () => program.stderr.match(/a worker ended and is started again/g);
    await expect.poll(told, WITHIN).toHaveLength(1);
    expect(program.stderr).toContain('"signal":"SIGKILL"');

    const { code, stdout } = await program.kill("SIGTERM");
    expect(code).toBe(0);
    expect(stdout).toBe(banner);
    expect(banner).toContain("  Workers  2 processes on this port\n");
    const next = createServer().listen(port, "127.0.0.1");
    await once(next, "listening");
    next.close();
  }, 120_000);

  test("a reason why they cannot start is printed once", async () => {
    const database = "postgres://nobody@127.0.0.1:1/none";
    const args = ["serve", "--workers", "3", "--database", database];
    const { code, stdout, stderr } = await startConvoke({ cwd: temporaryFolder(), args }).ended;

    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr).toMatch(/^[^\n]*127\.0\.0\.1:1\/none[^\n]*\n$/);
  });
});

/** The process that answers a request on a new connection; `undefined` if the connection is lost. */
async function answeredBy(url: string): Promise<number | undefined> {
  const message = {
    kind: "message",
    messageId: crypto.randomUUID(),
    role: "user",
    parts: [{ kind: "text", text: "who" }],
  };
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", connection: "close" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }),
    });
    const { result } = (await response.json()) as { result: AnsweredTask };
    return Number.parseInt(result.artifacts[0]!.parts[0]!.text, 10);
  } catch {
    return undefined;
  }
}

interface AnsweredTask {
  readonly artifacts: readonly { readonly parts: readonly { readonly text: string }[] }[];
}
