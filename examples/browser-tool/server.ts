import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { defineAgent, mount } from "convoke";
import { readModule } from "../browser/modules.ts";

// The agent has no tools of its own: it can do only what the page offers.
const agent = defineAgent({
  name: "Reader",
  description: "Reads a page together with its user.",
  model: process.env["MODEL"] ?? "demo",
  instructions: "You help a user to read a web page. Your tools see and change that page.",
  // A closed page never answers, so do not wait for it for long.
  clientTools: { timeoutMs: 60_000, onTimeout: "fail" },
});

const mounted = await mount(agent, { basePath: "/agent" });

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
};

/** The page and the agent, on one origin. */
const app = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://page");
  if (/^\/agent(?:\/|$)/.test(pathname)) return mounted.node(request, response);
  if (pathname.startsWith("/modules/")) return readModule(pathname, response);
  const file = /^\/(page\.(?:css|js)|page-tools\.js)$/.exec(pathname)?.[1] ?? "index.html";
  return void readFile(new URL(file, import.meta.url)).then((content) => {
    response.writeHead(200, { "content-type": TYPES[extname(file)] }).end(content);
  });
});

app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const { port } = app.address() as AddressInfo;
  console.log(`The page is at http://127.0.0.1:${port}/`);
});

// Unfinished tasks resume at the next start.
process.once("SIGTERM", () => void mounted.close().then(() => process.exit()));
