import { glob, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findOpeners } from "./connection-openers.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** The modules that may open connections, and why. All others use the egress. */
const ALLOWED: Readonly<Record<string, string>> = {
  "apps/convoke/src/dev/dev-server.ts": "it observes which modules are loaded, and loads none",
  "packages/egress/src/": "it is the way out, in Node and in browsers",
  "packages/console/src/page/server/session.ts":
    "it is a page, whose policy lets it speak only to the server that it came from",
  "packages/server/src/node/port.ts": "it listens and never connects",
  "packages/client/src/loopback-redirect/": "it listens for the browser of a sign-in",
  "packages/check/src/probes/webhooks.ts": "it listens for what a checked server pushes",
  "packages/check/src/probe-server/listener.ts": "it listens for a client that is checked",
  "apps/convoke/src/doctor/port.ts": "it listens for a moment and never connects",
  "packages/runtime/src/testing/": "it listens, as the providers of models do",
  "packages/engine/src/tracing/opentelemetry.ts":
    "it loads the API of OpenTelemetry with the first span, and nothing else",
  "packages/runtime/src/tools/rxjs.ts": "it loads rxjs with the first Observable, and nothing else",
};

test("no module except the egress opens a connection", async () => {
  const folders: string[] = [];
  for await (const folder of glob("{packages,apps}/*/src", { cwd: ROOT })) folders.push(folder);

  const openers = await findOpeners(folders, ROOT);
  const others = openers.filter(({ file }) => allowanceOf(file) === undefined);

  expect(others, "send it through @convoke/egress instead").toEqual([]);
  // Entries that are no longer needed must be removed from the list.
  expect(new Set(openers.map(({ file }) => allowanceOf(file)))).toEqual(
    new Set(Object.keys(ALLOWED)),
  );
});

test("no file disables the search", async () => {
  const hidden: string[] = [];
  for await (const file of glob("{packages,apps}/*/src/**/*.ts", { cwd: ROOT })) {
    const source = await readFile(join(ROOT, file), "utf8");
    const directives = source.matchAll(/lint-disable(?:-next-line|-line)?(?!-)([^\n]*)/g);
    for (const [, rules = ""] of directives) {
      // A directive that names no rule disables all of them.
      if (!/[a-z]/.test(rules) || rules.includes("restricted")) hidden.push(file);
    }
  }

  expect(hidden).toEqual([]);
});

describe("the search finds", () => {
  for (const [what, source] of [
    ["an import", `import { request } from "node:http"; request("http://a.test");`],
    ["an import without its prefix", `import { connect } from "net"; connect(80);`],
    ["an import of everything", `import * as http2 from "node:http2"; http2.connect("");`],
    ["an import for its default", `import dns from "node:dns/promises"; dns.lookup("");`],
    ["a late import", `const { connect } = await import("node:tls"); connect(443);`],
    ["an export", `export { request } from "node:https";`],
    ["another client", `import { request } from "undici"; request("");`],
    ["createRequire", `import { createRequire } from "node:module"; createRequire("");`],
    ["a module of Node by its name", `process.getBuiltinModule("node:http");`],
    ["the global fetch", `await fetch("http://a.test");`],
    ["the global fetch, handed on", `export const get = fetch;`],
    ["the global fetch by its object", `await globalThis.fetch("http://a.test");`],
    ["the global fetch by its name", `await globalThis["fetch"]("http://a.test");`],
    ["the global fetch, taken apart", `const { fetch: get } = globalThis; get("");`],
    ["a WebSocket", `new WebSocket("ws://a.test");`],
    ["an event source", `new EventSource("http://a.test");`],
  ] as const) {
    test(what, async () => {
      expect(await openersIn(source)).toHaveLength(1);
    });
  }
});

describe("the search leaves alone", () => {
  for (const [what, source] of [
    ["types", `import type { Socket } from "node:net"; export type A = Socket;`],
    ["the type of fetch", `export type Fetch = typeof globalThis.fetch;`],
    ["a fetch that was given", `export const ask = (fetch: (a: string) => void) => fetch("");`],
    ["a type with the same name", `interface EventSource { a: 1 } export type B = EventSource;`],
  ] as const) {
    test(what, async () => {
      expect(await openersIn(source)).toEqual([]);
    });
  }
});

function allowanceOf(file: string): string | undefined {
  return Object.keys(ALLOWED).find((place) => file.startsWith(place));
}

async function openersIn(source: string) {
  const folder = await mkdtemp(join(tmpdir(), "convoke-only-way-out-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "module.ts"), source);
  return findOpeners(["module.ts"], folder);
}
