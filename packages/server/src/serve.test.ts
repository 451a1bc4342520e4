import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "@convoke/protocol";
import { expect, test } from "vitest";
import { anAgentInfo } from "./cards/an-agent-info.suite.ts";
import { type Backend, createJsonLogger } from "@convoke/engine";
import { type ServeOptions, serve } from "./serve.ts";

const AGENT: Agent = {
  info: anAgentInfo(),
  run: async function* () {
    yield* [];
  },
};

function options(openBackend: ServeOptions["openBackend"]): ServeOptions {
  const logger = createJsonLogger("silent", () => undefined);
  return { port: 0, host: "127.0.0.1", logger, openBackend };
}

/** A store that is empty and stays so. */
function anEmptyBackend(): Backend {
  return {
    commit: () => Promise.reject(new Error("nothing is ever written")),
    read: () => Promise.resolve([]),
    watch: () => () => undefined,
    tasks: {
      get: () => Promise.resolve(undefined),
      record: () => Promise.resolve(undefined),
      list: () => Promise.resolve({ records: [], total: 0 }),
      ofContext: () => Promise.resolve([]),
      changedSince: () => Promise.resolve([]),
      unfinished: () => Promise.resolve([]),
      newest: () => Promise.resolve([]),
      waking: () => Promise.resolve([]),
    },
    pushes: {
      put: () => Promise.resolve(undefined),
      get: () => Promise.resolve(undefined),
      ofTask: () => Promise.resolve([]),
      list: () => Promise.resolve([]),
      progress: () => Promise.resolve(false),
      delete: () => Promise.resolve(false),
    },
    retention: {
      prune: () => Promise.resolve([]),
      remove: () => Promise.resolve([]),
      forgetOwner: () => Promise.resolve(),
      erasures: () => Promise.resolve([]),
      putErasure: () => Promise.resolve(false),
      purge: () => Promise.resolve(),
      forgetMessages: () => Promise.resolve(0),
      forgetContexts: () => Promise.resolve(0),
      compactable: () => Promise.resolve([]),
      compact: () => Promise.resolve(false),
      reclaim: () => Promise.resolve(false),
    },
    close: () => Promise.resolve(),
  };
}

test("the port is bound before the storage is opened", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  let isOpened = false;

  const started = serve(AGENT, {
    ...options(async () => {
      isOpened = true;
      return anEmptyBackend();
    }),
    port,
  });

  await expect(started).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(isOpened).toBe(false);
  await new Promise((resolve) => other.close(resolve));
});

test("a request that arrives before the storage is open waits for it", async () => {
  const address = Promise.withResolvers<string>();
  const opened = Promise.withResolvers<Backend>();
  const started = serve(
    AGENT,
    options(({ port }) => {
      address.resolve(`http://127.0.0.1:${port}/.well-known/agent-card.json`);
      return opened.promise;
    }),
  );

  const early = fetch(await address.promise);
  opened.resolve(anEmptyBackend());

  expect((await early).status).toBe(200);
  await (await started).close();
});

test("if the storage cannot be opened, waiting requests are disconnected and the port is released", async () => {
  const address = Promise.withResolvers<string>();
  const opened = Promise.withResolvers<Backend>();
  const started = serve(
    AGENT,
    options(({ port }) => {
      address.resolve(`http://127.0.0.1:${port}/`);
      return opened.promise;
    }),
  );
  const url = await address.promise;
  const early = fetch(url).catch((error: unknown) => error);
  await sleep(100);

  opened.reject(new Error("the folder is read-only"));

  await expect(started).rejects.toThrow("the folder is read-only");
  expect(await early).toBeInstanceOf(TypeError);
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test.each<[what: string, given: unknown, problem: string]>([
  ["nothing", undefined, "not undefined"],
  ["no agents", [], "at least one agent is needed"],
  ["a list with something else", [AGENT, () => "hi"], "not a function"],
  [
    "two agents with one id",
    [AGENT, AGENT],
    'the agents "Greeter" and "Greeter" have the same id "greeter"',
  ],
  ["a function", () => "hi", "not a function"],
  ["a definition", { name: "x", run: () => "hi" }, "not an object without info and run"],
  ["an instance of something else", new Map(), "not an object of class Map"],
])("%s is rejected instead of an agent, before a port is bound", async (_, given, problem) => {
  const never = options(() => Promise.reject(new Error("the storage was opened")));

  await expect(serve(given as Agent, never)).rejects.toThrow(problem);
});

test("the host of the public URL is served", async () => {
  const server = await serve(AGENT, {
    ...options(() => Promise.resolve(anEmptyBackend())),
    publicUrl: "https://agents.example.com/",
  });

  expect(server.url).toBe("https://agents.example.com/");
  expect(await statusBy(server.port, "agents.example.com")).toBe(200);
  expect(await statusBy(server.port, "evil.example")).toBe(403);
  await server.close();
});

/** The status of the card for a request with the given host; `fetch` would set its own. */
function statusBy(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const path = "/.well-known/agent-card.json";
    get({ port, host: "127.0.0.1", path, headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on("error", reject);
  });
}
