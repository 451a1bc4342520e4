import {
  type FunctionTurn,
  type Yielded,
  artifact,
  defineAgent,
  fail,
  reject,
  reply,
  status,
} from "@convoke/runtime";
import { sleep } from "@convoke/protocol/internal";

/** The delay between the chunks of `slow`. */
const PACE_MS = 20;

const COMMANDS: Readonly<Record<string, string>> = {
  "slow 50": "50 chunks, one after the other",
  ask: "a question for you",
  artifact: "a file and a record",
  message: "a message without a task",
  fail: "a failed task",
  reject: "a rejected task",
  auth: "a task that requires authorization",
};

/**
 * The agent that is served by default. It needs no API key and no network, and can put a task into
 * every state.
 */
export const demoAgent = defineAgent({
  name: "Convoke Demo",
  description:
    "Shows what an A2A agent can do, without a model: streams, asks, fails, makes files.",
  replies: true,
  skills: Object.entries(COMMANDS).map(([command, description]) => {
    const id = command.split(" ")[0] ?? command;
    return {
      id,
      name: id,
      description: `Answers with ${description}.`,
      tags: ["demo"],
      examples: [command],
    };
  }),
  async *run(turn) {
    const [command = "", argument] = turn.text.trim().split(/\s+/);
    switch (command.toLowerCase()) {
      case "slow":
        return yield* slow(turn, argument);
      case "ask":
        return `Hello, ${await turn.ask("What is your name?")}!`;
      case "artifact":
        yield artifact("notes.txt", new TextEncoder().encode("Made by the demo agent.\n"), {
          mediaType: "text/plain",
        });
        yield artifact("facts.json", { agent: "demo", answer: 42 }, { description: "A record." });
        return "One file and one record.";
      case "message":
        return reply("This is one message, and there is no task behind it.");
      case "fail":
        return fail("It failed, as you asked.");
      case "reject":
        return reject("I will not do that, as you asked.");
      case "auth":
        await turn.authRequired("Sign in wherever you like, then send me any message.");
        return "Thank you, you are in.";
      default:
        return yield* greeting(turn);
    }
  },
});

async function* slow({ signal }: FunctionTurn, argument = "10"): AsyncGenerator<Yielded, Yielded> {
  const count = Number(argument);
  if (!Number.isInteger(count) || count < 1 || count > 100_000) {
    return reject(`"slow" takes a number from 1 to 100000, not ${argument}.`);
  }
  yield status(`${count} chunks are coming.`);
  for (let chunk = 1; chunk < count; chunk++) {
    yield `${chunk} `;
    await sleep(PACE_MS, signal);
  }
  return String(count);
}

async function* greeting({ text, conversation }: FunctionTurn): AsyncGenerator<Yielded, void> {
  const said = `You said: ${text.trim() || "nothing"}.`;
  const before = conversation.filter(({ role }) => role === "user").length;
  const remembered =
    before === 0 ? "" : ` I remember ${before} earlier message(s) of this conversation.`;
  const hint = ` Try: ${Object.keys(COMMANDS).join(", ")}.`;
  for (const word of `${said}${remembered}${hint}`.split(/(?<= )/)) yield word;
}
