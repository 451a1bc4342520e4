import { type FunctionTurn, defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";

/** Follows commands, so that a test can observe a bridge. */
export const worker = defineAgent({
  name: "Worker",
  description: "Does what it is told.",
  version: "3.2.1",
  replies: true,
  skills: [
    { id: "work", name: "Work", description: "Works.", tags: ["work"], examples: ["count 3"] },
  ],
  async *run(turn) {
    const [command, argument = ""] = turn.text.split(" ");
    switch (command) {
      case "reply":
        return turn.reply("No task needed.");
      case "ask": {
        yield "Well. ";
        const name = await turn.ask("Who are you?");
        const place = await turn.ask(`Where, ${name}?`);
        return `${name} of ${place}`;
      }
      case "auth":
        await turn.authRequired("Log in first.");
        return "You are in.";
      case "fail":
        return turn.fail("It broke.");
      case "reject":
        return turn.reject("Not me.");
      case "remember":
        return turn.conversation
          .filter(({ role }) => role === "user")
          .map(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")).join(""))
          .join(", ");
      case "echo":
        yield turn.artifact("parts", {
          parts: turn.message.parts,
          metadata: turn.message.metadata,
        });
        return "echoed";
      case "wait":
        yield "waiting";
        await sleep(60_000, undefined, { signal: turn.signal });
        return "waited";
      default:
        return yield* count(turn, Number(argument));
    }
  },
});

/** Counts, with an occasional message. */
async function* count({ status, signal }: FunctionTurn, many: number) {
  for (let place = 1; place < many; place++) {
    if (place % 10 === 1) yield status(`at ${place}`);
    yield `${place} `;
    await sleep(5, undefined, { signal });
  }
  return String(many);
}
