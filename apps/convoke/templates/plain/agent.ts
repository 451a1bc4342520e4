import { defineAgent } from "convoke";

export default defineAgent({
  name: "Echo",
  description: "Repeats what you say, word by word.",
  async *run({ text, sleep }) {
    for (const word of `You said: ${text}`.split(/(?<= )/)) {
      yield word; // a chunk of the answer
      await sleep(50); // durable: if the server restarts here, the answer goes on
    }
  },
});
