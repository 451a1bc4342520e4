import {
  type Agent,
  type FunctionTurn,
  artifact,
  defineAgent,
  fail,
  reject,
  status,
} from "convoke";
import { setTimeout as sleep } from "node:timers/promises";

const skill = (id: string, description: string, examples: readonly string[] = []) => ({
  id,
  name: `Clerk: ${id}`,
  description,
  tags: ["office"],
  examples,
});

/** An agent that prints while it works, as many do. */
export const createClerk = (print: (line: string) => void): Agent =>
  defineAgent({
    name: "Clerk",
    description: "Does the work of an office.",
    skills: [
      skill("echo", "Says what it is told.", ["Good morning", "Good night"]),
      skill("count", "Counts slowly."),
      skill("greet", "Asks for a name."),
      skill("choose", "Asks for a size."),
      skill("sign in", "Wants somebody to sign in first."),
      skill("papers", "Hands over files and data."),
      skill("fail", "Fails."),
      skill("reject", "Refuses."),
    ],
    async *run(turn) {
      print(`clerk: works on ${turn.skill}`);
      switch (turn.skill) {
        case "count":
          return yield* count(turn);
        case "greet":
          return `Hello, ${await turn.ask("What is your name?")}!`;
        case "choose":
          return `Then it is ${await turn.ask("Which size?", ["small", "large"])}.`;
        case "sign in":
          await turn.authRequired("Sign in at https://login.example/clerk first.");
          return "You are in.";
        case "papers":
          return yield* papers();
        case "fail":
          return fail("The copier is broken.");
        case "reject":
          return reject("Not without a form.");
        default:
          return `${turn.skill ?? "nothing"} heard ${turn.text} (${turn.conversation.length} before)`;
      }
    },
  });

async function* count({ signal }: FunctionTurn) {
  yield status("Sharpening a pencil.");
  await sleep(300, undefined, { signal });
  for (let number = 1; number <= 3000; number++) {
    yield `${number} `;
    await sleep(20, undefined, { signal });
  }
  return "done";
}

async function* papers() {
  yield artifact("memo.txt", new TextEncoder().encode("Buy tea."), { mediaType: "text/plain" });
  yield artifact("dot.png", new Uint8Array([1, 2, 3]), { mediaType: "image/png" });
  yield artifact("blob.bin", new Uint8Array([4, 5]), { mediaType: "application/octet-stream" });
  yield artifact("huge.bin", new Uint8Array(2_000_000), { mediaType: "application/octet-stream" });
  yield artifact("total", { sum: 42 });
  return "Here you are.";
}
