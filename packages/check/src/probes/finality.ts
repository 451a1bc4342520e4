import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Story } from "../scene/story.ts";
import { needsStreaming, ordinaryStory, storyOf } from "../scene/streams.ts";
import { asking } from "../scene/tasks.ts";
import { Failed, Skipped, about } from "../verdict.ts";

/** What 0.3 says about the end of a stream: the last status is final. */
export const FINALITY: readonly Probe[] = [
  {
    name: "final-word",
    says: "Each status of a stream says whether it is the last.",
    claims: [must("v03-S21", "§7.2.2")],
    // Where false is not written at all, its absence says nothing.
    bindings: ["jsonrpc"],
    async run(scene) {
      const { events, exchange } = await ordinaryStory(scene);
      for (const event of events) {
        if (event.kind === "status" && typeof event.final !== "boolean") {
          throw new Failed("final: true or false in each status update", exchange);
        }
      }
    },
  },
  {
    name: "final-at-end",
    says: "The status that a stream ends with is final, and no other.",
    claims: [must("v03-S21", "§7.2.2")],
    async run(scene) {
      judgeFinal(await ordinaryStory(scene));
    },
  },
  {
    name: "final-at-question",
    says: "Where a stream ends with a question, that status is final.",
    claims: [should("v03-S21", "§7.2.2, §9.3")],
    async run(scene) {
      needsStreaming(scene);
      await asking(scene);
      const text = scene.settings.ask ?? scene.settings.message;
      judgeFinal(await storyOf(scene, text));
    },
  },
];

function judgeFinal({ events, exchange }: Story): void {
  const statuses = events.flatMap((event) => (event.kind === "status" ? [event] : []));
  const last = statuses.at(-1);
  if (last === undefined) throw new Skipped("the stream has no status");
  if (last.final !== true) {
    const shown = about(exchange, `a stream that ends after ${JSON.stringify(last.json)}`);
    throw new Failed("final: true in the last status update", shown);
  }
  if (statuses.slice(0, -1).some(({ final }) => final === true)) {
    throw new Failed("final: true in no status update but the last", exchange);
  }
}
