import { connect, defineAgent } from "convoke";
import { expect, onTestFinished } from "vitest";
import { aPushingServer } from "../push/a-pushing-server.ts";
import { Webhook } from "../push/a-webhook.ts";
import { verifies } from "../verifies.ts";
import { BACKENDS } from "./backends.ts";
import { expectNoGrowth } from "./expected-costs.ts";
import { each } from "./ledger.ts";

const TURNS = 60;
const WINDOW = 10;

verifies("G9", "turn 60 of a pushed task costs the same as turn 10", async () => {
  const backend = await BACKENDS["memory"]!();
  const webhook = await Webhook.start();
  const agent = defineAgent({
    name: "Patient",
    description: "Has many turns.",
    run: async ({ ask }) => {
      for (;;) await ask("And then?");
    },
  });
  const server = await aPushingServer(agent, {}, backend);
  const remote = await connect(server.url);
  onTestFinished(() => remote.close());
  const { task } = await remote.send("Go.");
  const taskId = task!.id;
  await remote.push.set(taskId, { url: webhook.url });

  const marks = [backend.ledger.mark];
  for (let turn = 1; turn <= TURNS; turn++) {
    await remote.send("Go on.", { taskId });
    // That it works again, and that it asks again.
    await expect
      .poll(() => webhook.places.length, { interval: 2, timeout: 20_000 })
      .toBeGreaterThanOrEqual(2 * turn);
    marks.push(backend.ledger.mark);
  }

  const between = (first: number, last: number) =>
    each(backend.ledger.between(marks[first]!, marks[last]), last - first);
  expectNoGrowth(between(TURNS - WINDOW, TURNS), between(WINDOW, 2 * WINDOW));
});
