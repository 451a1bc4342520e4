import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Task, connect } from "convoke";
import { say } from "convoke/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Program, start } from "../../test/harness/program.ts";
import { verifies } from "../../test/verifies.ts";
import refunds from "./agent.ts";
import { TinyShop } from "./tiny-shop.ts";

const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

/** A liveness bound on a slow machine, not a performance claim. */
const WITHIN_MS = 30_000;

let shop: TinyShop;
let shopUrl: string;

beforeEach(async () => {
  shop = new TinyShop();
  shopUrl = await shop.open();
  vi.stubEnv("SHOP_URL", shopUrl);
});

afterEach(() => {
  shop.close();
  vi.unstubAllEnvs();
});

describe("the refunds agent", () => {
  test("asks before it refunds", async () => {
    const { text, task } = await say(refunds, "A-7");

    expect(text).toBe("Refund 30 EUR? (yes / no)");
    expect(task?.status.state).toBe("input-required");
    expect(shop.refunds).toEqual([]);
  });

  test("refunds what was approved, and returns a receipt", async () => {
    const { text, task } = await say(refunds, "A-7", { answers: ["yes"] });

    expect(text).toBe("Refunded 30 EUR.");
    expect(task?.status.state).toBe("completed");
    expect(receiptsOf(task)).toEqual([{ id: "A-7" }]);
    expect(shop.refunds).toHaveLength(1);
  });

  test("asks again when the answer is neither yes nor no", async () => {
    const { task } = await say(refunds, "A-7", { answers: ["perhaps", "Yes"] });

    expect(task?.status.state).toBe("completed");
    expect(shop.refunds).toHaveLength(1);
  });

  test("refunds nothing that was not approved", async () => {
    const { text, task } = await say(refunds, "A-7", { answers: ["no"] });

    expect(text).toBe("not approved");
    expect(task?.status.state).toBe("rejected");
    expect(shop.refunds).toEqual([]);
  });

  verifies(
    ["G3", "G6", "R111"],
    "refunds once, even if it is killed while it waits and while it pays",
    async () => {
      const data = aFolder();
      const first = await serve(data);
      const { task } = await first.agent.send("A-7", { messageId: "m1" });
      const taskId = task!.id;
      await first.program.kill("SIGKILL");

      // The question is still open, and a process that never asked it accepts the answer.
      const second = await serve(data);
      expect(questionOf(await second.agent.get(taskId))).toBe("Refund 30 EUR? (yes / no)");
      shop.hold();
      const answer = { taskId, messageId: "m2" };
      const unanswered = second.agent.send("yes", answer).catch((error: Error) => error);
      await expect.poll(() => shop.refunds.length, { timeout: WITHIN_MS }).toBe(1);
      await second.program.kill("SIGKILL");
      expect(await unanswered).toBeInstanceOf(Error);
      shop.release();

      // Sending the answer again returns the outcome.
      const third = await serve(data);
      const { text, task: done } = await third.agent.send("yes", answer);

      expect(text).toBe("Refunded 30 EUR.");
      expect(done?.status.state).toBe("completed");
      expect(receiptsOf(done)).toEqual([{ id: "A-7" }]);
      // Two requests with one key are one refund.
      expect(shop.refunds).toHaveLength(2);
      expect(new Set(shop.refunds).size).toBe(1);
      expect(shop.lookups).toBe(1);
      expect(done?.history?.map(({ parts }) => parts[0])).toMatchObject([
        { text: "A-7" },
        { text: "Refund 30 EUR? (yes / no)" },
        { text: "yes" },
      ]);
    },
    4 * WITHIN_MS,
  );
});

test("by hand: the shop is a separate program, and the agent finds it", async () => {
  const data = aFolder();
  const program = start(
    process.execPath,
    [fileURLToPath(new URL("start-shop.ts", import.meta.url))],
    {
      cwd: data,
      env: { SHOP_PORT: "0" },
    },
  );
  const url = await program.until((stdout) => /open at (http:\S+)\./.exec(stdout)?.[1]);
  vi.stubEnv("SHOP_URL", url);

  const { text } = await say(refunds, "A-7", { answers: ["yes"] });

  expect(text).toBe("Refunded 30 EUR.");
  await program.until((stdout) =>
    /look up \/orders\/A-7\nrefund \S+\n/.test(stdout) ? true : undefined,
  );
});

/** `convoke serve agent.ts`, as a user starts it, and a client that calls it. */
async function serve(
  data: string,
): Promise<{ program: Program; agent: Awaited<ReturnType<typeof connect>> }> {
  const file = fileURLToPath(new URL("./agent.ts", import.meta.url));
  const args = [CONVOKE, "serve", file, "--port", "0", "--data", data];
  const program = start(process.execPath, args, { cwd: data, env: { SHOP_URL: shopUrl } });
  const url = await program.until((stdout) => /http:\/\/[\d.]+:\d+/.exec(stdout)?.[0]);
  return { program, agent: await connect(url) };
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-refunds-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function questionOf({ status }: Task): string | undefined {
  const [part] = status.message?.parts ?? [];
  return part?.kind === "text" ? part.text : undefined;
}

function receiptsOf(task: Task | undefined): readonly unknown[] {
  const receipts = task?.artifacts?.filter(({ name }) => name === "receipt.json") ?? [];
  return receipts.flatMap(({ parts }) => parts).map((part) => part.kind === "data" && part.data);
}
