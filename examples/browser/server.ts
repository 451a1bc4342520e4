import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, serve } from "convoke";
import { readModule } from "./modules.ts";

const STORY =
  "Once there was a page that wanted to talk to an agent. The agent lived on another origin, " +
  "so the browser asked first: may this page call? The agent looked into its list, found the " +
  "page, and said yes. From then on words came as they were thought, one after the other, and " +
  "when the reader pressed Stop, the task ended there and then.";

const agent = defineAgent({
  name: "Storyteller",
  description: "Tells the story of a page and an agent, word by word.",
  async *run({ signal }) {
    for (const word of STORY.split(/(?<= )/)) {
      yield word;
      await sleep(60, undefined, { signal });
    }
  },
});

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
};

/** The page and its modules, on an origin of their own. */
const pages = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://page");
  if (pathname.startsWith("/modules/")) return readModule(pathname, response);
  const file = /^\/(page\.(?:css|js))$/.exec(pathname)?.[1] ?? "index.html";
  void readFile(new URL(file, import.meta.url)).then((content) => {
    response.writeHead(200, { "content-type": TYPES[extname(file)] }).end(content);
  });
});

const port = Number(process.env["PORT"] ?? 3000);
await new Promise<void>((resolve) => pages.listen(port, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;

const server = await serve(agent, {
  port: Number(process.env["AGENT_PORT"] ?? 3001),
  cors: { origins: [process.env["ALLOWED_ORIGIN"] ?? origin] },
});
console.log(`The page is at ${origin}/?agent=${server.url}`);
