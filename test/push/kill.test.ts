import { setTimeout as sleep } from "node:timers/promises";
import { createPushReceiver } from "@convoke/client/push-receiver";
import { expect, onTestFinished } from "vitest";
import { MortalServer } from "../harness/mortal-server.ts";
import { randomFrom } from "../harness/random.ts";
import { verifies } from "../verifies.ts";
import { type Manner, Webhook, accepts, answers, hangs, losesItsAnswer } from "./a-webhook.ts";
import { endedTasks, placesOf, placesWorthTelling } from "./arrivals.ts";
import { PUSH_DIALECTS, taskIdOf } from "./requests.ts";

// The short form; `npm run test:push` runs the full size.
const TASKS = Number(process.env["CONVOKE_PUSH_TASKS"] ?? 10);
const KILLS = Number(process.env["CONVOKE_PUSH_KILLS"] ?? 3);
const SEED = Number(process.env["CONVOKE_PUSH_SEED"] ?? Date.now() % 1_000_000);

verifies(
  ["G12", "G3"],
  `notifications of ${TASKS} tasks survive ${KILLS} kills and a receiver that mostly fails`,
  async () => {
    const random = randomFrom(SEED);
    const webhook = await Webhook.start();
    webhook.manner = moody(random);
    const server = new MortalServer({ script: new URL("./push-server.ts", import.meta.url) });
    onTestFinished(() => server.close());
    const taskIds: string[] = [];
    const url = await server.start();
    for (let count = 0; count < TASKS; count++) {
      const dialect = PUSH_DIALECTS[count % 2]!;
      taskIds.push(taskIdOf(await dialect.send(url, { url: webhook.url, token: "t" })));
    }

    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(50 + 400 * random());
      await server.kill();
      if (random() < 0.3) await webhook.down();
      await server.start();
      if (!webhook.isUp) await webhook.up();
    }
    webhook.manner = accepts;
    const ends = () => endedTasks(webhook.arrivals).size;
    await expect.poll(ends, { timeout: 60_000, message: `seed ${SEED}` }).toBe(TASKS);
    await sleep(200);

    const stored = new Map((await server.stored()).map((task) => [task.record.taskId, task]));
    for (const taskId of taskIds) {
      const places = placesOf(webhook.arrivals, taskId);
      const worthTelling = placesWorthTelling(stored.get(taskId)?.log ?? []);
      expect(places, `task ${taskId}, seed ${SEED}`).toEqual(worthTelling);
    }
    const receiver = createPushReceiver({ secret: "shared", token: "t", remember: 100_000 });
    const kinds = [];
    for (const arrival of webhook.arrivals) kinds.push((await receiver.receive(arrival)).kind);
    process.stdout.write(
      `Push test, seed ${SEED}: ${TASKS} tasks, ${KILLS} kills, ${kinds.length} notifications, ` +
        `${kinds.filter((kind) => kind === "repeated").length} of them repeated, 0 lost\n`,
    );
    expect(kinds).not.toContain("refused");
    expect(server.complaints).toBe("");
  },
  120_000 + 3000 * KILLS,
);

/** Fails in every way, at random, and sometimes accepts. */
function moody(random: () => number): Manner {
  const moods = [
    accepts,
    answers(500),
    losesItsAnswer,
    hangs,
    accepts,
    answers(302, { location: "/" }),
  ];
  return (request, response) => moods[Math.floor(random() * moods.length)]!(request, response);
}
