import { randomBytes } from "node:crypto";
import { defineAgent } from "convoke";
import { serveAgent } from "../harness/serve-agent.ts";

/** Returns large files, one after the other. After a crash it starts over with others. */
const storer = defineAgent({
  name: "Storer",
  description: "Stores files.",
  restart: true,
  async *run({ artifact }) {
    for (let count = 1; count <= 8; count++) {
      yield artifact(`file ${count}`, randomBytes(70_000 + count));
    }
  },
});

await serveAgent(storer);
