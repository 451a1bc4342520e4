import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, mount } from "convoke";
import fastify from "fastify";

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

const app = fastify();
app.get("/", () => "A page of the app.");
app.register(async (scope) => {
  // In this scope the agent reads bodies itself, with its own limit and media types.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
  for (const path of ["/agent", "/agent/*"]) {
    scope.all(path, (request, reply) => {
      reply.hijack();
      mounted.node(request.raw, reply.raw);
    });
  }
});

const url = await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
console.log(`The agent is at ${url}/agent/`);

// Open streams are asked to reconnect, and unfinished tasks resume at the next start.
process.once("SIGTERM", () => void mounted.close().then(() => process.exit()));
