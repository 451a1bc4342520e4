import {
  type ArtifactUpdateEvent,
  type PublicEvent,
  type Task,
  applyEvent,
  textOf,
  textOfParts,
} from "@convoke/protocol";
import { expect } from "vitest";
import { writeAgent } from "../start/agent-file.ts";
import { serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { WireClient } from "../wire/wire-client.ts";
import { type Connection, INTERFACES } from "./bare-streams.ts";
import { V1 } from "./logs.ts";

/** Counts without any step, and starts over after a crash. */
const COUNTER = `export default defineAgent({
  name: "Counter",
  description: "Counts, and starts over after a crash.",
  restart: true,
  async *run() {
    for (let count = 1; count < 120; count++) {
      yield count + " ";
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return "120";
  },
});`;

const MODEL = `export default defineAgent({
  name: "Model",
  description: "Answers with a model.",
  model: "demo",
});`;

function counted(upTo: number): string {
  return Array.from({ length: upTo }, (_, index) => index + 1).join(" ");
}

/** What a person asks, and the answer; without one, the agent words it differently each time. */
const AGENTS = [
  { agent: "the demo agent", text: "slow 120", answer: counted(120) },
  { agent: "a function that starts over", code: COUNTER, text: "go", answer: counted(120) },
  {
    agent: "a model that repeats itself",
    code: MODEL,
    text: "count to 200",
    answer: `Demo model, no AI. ${counted(200)}`,
  },
  { agent: "a model that uses other words", code: MODEL, text: "vary to 200", answer: undefined },
];

for (const { agent, code, text, answer } of AGENTS) {
  const what =
    answer === undefined
      ? "the answer begins again once, and what follows is the stored answer"
      : "the bytes of all connections are the answer once";
  verifies(
    ["G2", "R42"],
    `after kill -9 in the middle of an answer of ${agent}, ${what}, on all six interfaces`,
    async () => {
      const cwd = temporaryFolder();
      const args = code === undefined ? ["serve"] : ["serve", writeAgent(cwd, code)];
      const first = await serveConvoke({ cwd, args });
      const cut = INTERFACES.map(({ stream }) => stream(first.url, text));
      await expect
        .poll(() => Math.min(...cut.map(({ received }) => textIn(received).length)), {
          timeout: 30_000,
          interval: 5,
        })
        .toBeGreaterThan(60);

      await first.program.kill("SIGKILL");

      await Promise.all(cut.map(({ ended }) => ended));
      const second = await serveConvoke({ cwd, args });
      const resumed = INTERFACES.map(({ resume }, place) => {
        const { received } = cut[place]!;
        return resume(second.url, (received[0]!.event as Task).id, received.at(-1)!.id);
      });
      await Promise.all(resumed.map(({ ended }) => ended));

      for (const [place, { name }] of INTERFACES.entries()) {
        const before = cut[place]!.received;
        const all = [...before, ...resumed[place]!.received];
        const ids = all.map(({ id }) => Number(id));
        const events = all.map(({ event }) => event);
        const begun = updatesIn(events).filter(({ append }) => append !== true);
        const { id } = events[0] as Task;
        const stored = await new WireClient(second, V1).get(id);
        expect(ids, name).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
        expect(events.at(-1), name).toMatchObject({ status: { state: "completed" } });
        expect(textOf(folded(events)), name).toBe(textOf(stored));
        expect(begun, name).toHaveLength(answer === undefined ? 2 : 1);
        if (answer === undefined) expect(textOf(stored)).not.toContain(textIn(before).slice(0, 50));
        else expect(textIn(all), name).toBe(answer);
      }
    },
    120_000,
  );
}

function updatesIn(events: readonly PublicEvent[]): readonly ArtifactUpdateEvent[] {
  return events.filter((event): event is ArtifactUpdateEvent => event.kind === "artifact-update");
}

/** The text of all chunks, as a client has it that only appends. */
function textIn(received: Connection["received"]): string {
  const updates = updatesIn(received.map(({ event }) => event));
  return updates.map(({ artifact }) => textOfParts(artifact.parts)).join("");
}

function folded(events: readonly PublicEvent[]): Task {
  return events.reduce<Task | undefined>((task, event) => applyEvent(task, event), undefined)!;
}
