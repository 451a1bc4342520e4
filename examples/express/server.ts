import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, mount } from "convoke";
import express from "express";

const agent = defineAgent({
  name: "Counter",
  description: "Counts to a number, one chunk at a time.",
  async *run({ text, signal }) {
    for (let count = 1; count <= Number(text); count++) {
      yield `${count} `;
      await sleep(20, undefined, { signal });
    }
  },
});

const mounted = await mount(agent);

const app = express();
app.use(express.json());
app.get("/", (_request, response) => void response.send("A page of the app."));
app.use("/agent", mounted.node);

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`The agent is at http://127.0.0.1:${port}/agent/`);
});

// Open streams are asked to reconnect, and unfinished tasks resume at the next start.
process.once("SIGTERM", () => void mounted.close().then(() => process.exit()));
