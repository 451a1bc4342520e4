import { setTimeout as sleep } from "node:timers/promises";
import { type Message, type Task, type TaskState, isTerminal } from "@convoke/protocol";
import { expect } from "vitest";
import { type ServedProcess, serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "../wire/dialect.ts";
import { WireClient } from "../wire/wire-client.ts";
import { interruptible } from "./interruptible.ts";
import { killUnder, lastOf, listAll, readLog } from "./logs.ts";

/** Callers send again what got no answer, and activate no extension. */
const ONCE = { CONVOKE_IDEMPOTENCY: "always" };

// The short form; `npm run test:kill` runs the full size.
const ROUNDS = Number(process.env["CONVOKE_KILL_ROUNDS"] ?? 2);
const SENDS = 40;
const WORDS = ["hello", "slow 1", "slow 3", "slow 6", "artifact", "ask", "fail", "message"];

/** One message and, once there is one, its answer. */
interface Sent {
  readonly messageId: string;
  readonly word: string;
  answer?: Task | Message;
}

/** Sends a message, in either version, waiting for its end or not. */
async function send(server: ServedProcess, sent: Sent, index: number): Promise<Task | Message> {
  const dialect = DIALECTS[index % 2]!;
  const client = new WireClient(server, dialect);
  const configuration = index % 3 === 0 ? dialect.atOnce : {};
  const message = { messageId: sent.messageId };
  return client.resultOf(await client.send(sent.word, { message, configuration }));
}

/**
 * Asserts that every acknowledged task exists, that every task has ended or waits for its caller,
 * and that no log has a gap.
 */
async function check(server: ServedProcess, answered: readonly Sent[]): Promise<void> {
  const client = new WireClient(server, DIALECTS[0]!);
  // A task that had written nothing yet begins again, so it may take a moment. It may also be listed
  // only then, as working, so what follows looks at the list that had no open task.
  const isOpen = (state: TaskState) => !isTerminal(state) && state !== "input-required";
  let listed: ReadonlyMap<string, TaskState> = new Map();
  const open = async () => {
    listed = await listAll(server);
    return [...listed].filter(([, state]) => isOpen(state));
  };
  await expect.poll(open, { timeout: 20_000 }).toEqual([]);
  for (const [id, state] of listed) {
    expect(lastOf(await readLog(server, id))).toMatchObject({ status: { state }, final: true });
  }
  for (const { word, answer } of answered) {
    if (answer?.kind !== "task") continue;
    const stored = await client.get(answer.id);
    expect(listed.get(answer.id), `${word} was answered`).toBe(stored.status.state);
    if (isTerminal(answer.status.state)) expect(stored).toEqual(answer);
  }
}

verifies(
  ["G1", "G3", "G6"],
  `${ROUNDS} kills at random moments of ${SENDS} sends lose no acknowledged task`,
  async () => {
    const cwd = temporaryFolder();
    const args = interruptible(cwd);
    const all: Sent[] = [];
    let cut = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const server = await serveConvoke({ cwd, args, env: ONCE });
      await check(server, all);
      // Senders without an answer retry; those with an answer get the same task, and none runs
      // twice.
      const retried = await Promise.all(all.map((sent, index) => send(server, sent, index)));
      for (const [index, answer] of retried.entries()) {
        const earlier = all[index]!.answer;
        if (earlier?.kind === "task") expect(answer).toMatchObject({ id: earlier.id });
        if (earlier?.kind === "message") expect(answer).toEqual(earlier);
        all[index]!.answer = answer;
      }
      const fresh = Array.from({ length: SENDS }, (_, index): Sent => {
        return { messageId: `${round}-${index}`, word: WORDS[index % WORDS.length]! };
      });
      const enough = Promise.withResolvers<void>();
      const killAfter = Math.floor(Math.random() * SENDS);
      let answers = 0;
      const sending = Promise.allSettled(
        fresh.map(async (sent, index) => {
          sent.answer = await send(server, sent, index);
          if (++answers >= killAfter) enough.resolve();
        }),
      );
      if (killAfter > 0) await enough.promise;
      await sleep(Math.random() * 20);

      await killUnder(server);

      cut += (await sending).filter(({ status }) => status === "rejected").length;
      all.push(...fresh);
    }

    const last = await serveConvoke({ cwd, args, env: ONCE });
    await check(last, all);
    const finals = await Promise.all(all.map((sent, index) => send(last, sent, index)));
    const tasks = new Set(finals.flatMap((final) => (final.kind === "task" ? [final.id] : [])));
    expect(new Set((await listAll(last)).keys())).toEqual(tasks);
    expect(finals).toHaveLength(ROUNDS * SENDS);
    expect(cut).toBeLessThan(ROUNDS * SENDS);
  },
  120_000,
);
