import { defineAgent } from "convoke";
import { textOf } from "@convoke/protocol";
import { isSettled, subscribeToTask } from "@convoke/engine";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";
import { Reader } from "./a-reader.ts";

const CALL = { caller: CALLER, version: "1.0", trace: undefined } as const;

/** Counts, and occasionally yields to the event loop, so that commits have every size. */
const counter = defineAgent({
  name: "Counter",
  description: "Counts to the number it is given.",
  async *run({ text }) {
    for (let n = 1; n <= Number(text); n++) {
      yield `${n} `;
      if (n % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  },
});

const counted = (count: number): string =>
  Array.from({ length: count }, (_, n) => `${n + 1} `).join("");

describe("a subscriber", () => {
  verifies(
    ["G2", "G7"],
    "that connects at any moment, ten thousand times, misses nothing and sees nothing twice",
    async () => {
      const engine = anEngine(counter);
      let subscriptions = 0;
      while (subscriptions < 10_000) {
        const { live } = await tell(engine, "60");
        const { taskId } = live.writer;
        const readers: Reader[] = [];
        // Between commit and wake-up and everywhere else: some in each microtask, some in each
        // turn.
        while (!isSettled(live)) {
          for (let n = 0; n < 10 && !isSettled(live); n++) {
            const lastEventId = n % 2 === 0 ? undefined : String(live.writer.head);
            readers.push(
              new Reader(
                await subscribeToTask(
                  { taskId },
                  { engine, agent: engine.agents.first, ...CALL, lastEventId },
                ),
              ),
            );
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all(readers.map((reader) => reader.ended));
        subscriptions += readers.length;
        for (const { frames } of readers) {
          const ids = frames.map(({ id }) => id);
          expect(ids).toEqual(ids.map((_, place) => ids[0]! + place));
          expect(ids.at(-1)).toBe(live.writer.head);
        }
        const folds = readers
          .filter(({ frames }) => frames[0]?.event.kind === "task")
          .map((reader) => reader.fold());
        expect(new Set(folds.map(textOf))).toEqual(new Set([counted(60)]));
      }
      engine.close();
    },
    120_000,
  );

  verifies(
    "G8",
    "that does not read delays no other reader, and still gets every event once it reads",
    async () => {
      const engine = anEngine(counter);
      const { live } = await tell(engine, "3000");
      const { taskId } = live.writer;
      const slow = new Reader(
        await subscribeToTask(
          { taskId },
          { engine, agent: engine.agents.first, ...CALL, lastEventId: "0" },
        ),
        { isFull: true },
      );
      const quick = new Reader(
        await subscribeToTask(
          { taskId },
          { engine, agent: engine.agents.first, ...CALL, lastEventId: "0" },
        ),
      );

      await live.until(isSettled);
      await quick.ended;
      const seen = slow.frames.length;
      let isEnded = false;
      void slow.ended.then(() => {
        isEnded = true;
      });
      for (let page = 0; !isEnded && page < 1000; page++) {
        slow.drain();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }

      expect(seen).toBeLessThan(600);
      expect(slow.writesWhileFull).toBe(0);
      expect(slow.frames.map(({ id }) => id)).toEqual(quick.frames.map(({ id }) => id));
      expect(textOf(slow.fold())).toBe(counted(3000));
      engine.close();
    },
  );

  verifies("G7", "that disconnects does not affect the others", async () => {
    const engine = anEngine(counter);
    const { live } = await tell(engine, "500");
    const { taskId } = live.writer;
    const [leaving, staying] = await Promise.all(
      [0, 1].map(
        async () =>
          new Reader(
            await subscribeToTask(
              { taskId },
              { engine, agent: engine.agents.first, ...CALL, lastEventId: "0" },
            ),
          ),
      ),
    );

    leaving!.leave();
    await live.until(isSettled);
    await staying!.ended;

    expect(textOf(staying!.fold())).toBe(counted(500));
    expect(leaving!.frames.length).toBeLessThan(staying!.frames.length);
    engine.close();
  });
});
