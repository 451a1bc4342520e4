import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, mount } from "convoke";

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

const mounted = await mount(agent, {
  basePath: "/agent",
  data: process.env["CONVOKE_DATA"],
});

/** A Web fetch handler, as Bun, Deno, Next and many hosts accept it. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/agent")) return mounted.fetch(request);
    return new Response("A page of the app.");
  },
};
