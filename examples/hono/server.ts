import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { defineAgent, mount } from "convoke";
import { Hono } from "hono";

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

const mounted = await mount(agent, { basePath: "/agent" });

const app = new Hono();
app.get("/", (context) => context.text("A page of the app."));
app.all("/agent/*", (context) => mounted.fetch(context.req.raw));

const port = Number(process.env["PORT"] ?? 3000);
serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, (address) => {
  console.log(`The agent is at http://127.0.0.1:${address.port}/agent/`);
});

// Open streams are asked to reconnect, and unfinished tasks resume at the next start.
process.once("SIGTERM", () => void mounted.close().then(() => process.exit()));
