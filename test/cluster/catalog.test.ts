import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Finished, runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const address = needsPostgres();

/** Long enough for a busy machine; servers need a second. */
const EVENTUALLY = { timeout: 20_000, interval: 100 };

const BARD = { id: "bard", description: "Sings.", model: "demo" };

/** `convoke serve` on a database. */
async function served(...args: readonly string[]) {
  const stop = new AbortController();
  const started = Promise.withResolvers<string>();
  const onStdout = (text: string): void => {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
    if (url !== undefined) started.resolve(url);
  };
  const ended: Promise<Finished> = runCli(["serve", "--port", "0", ...args], {
    env: { CONVOKE_LOG: "silent" },
    signal: stop.signal,
    onStdout,
  });
  void ended.then(({ stderr }) => started.reject(new Error(stderr)));
  const close = async (): Promise<void> => {
    stop.abort();
    await ended;
  };
  onTestFinished(close);
  const url = await started.promise;
  const ask = async (method: string, path: string, body?: object): Promise<number> => {
    const headers = { "content-type": "application/json" };
    const text = body && { body: JSON.stringify(body) };
    return (await fetch(`${url}/convoke/agents${path}`, { method, headers, ...text })).status;
  };
  /** The enabled agents, with their descriptions. */
  const agents = async (): Promise<Readonly<Record<string, string>>> => {
    const list = (await (await fetch(`${url}/.well-known/agents.json`)).json()) as {
      readonly agents: readonly { readonly id: string; readonly description: string }[];
    };
    return Object.fromEntries(list.agents.map(({ id, description }) => [id, description]));
  };
  return { ask, agents, close };
}

test("an agent that is added, edited, disabled or removed at one server is so at all, and after a restart", async () => {
  const config = join(temporaryFolder(), "convoke.config.mjs");
  writeFileSync(
    config,
    `export default { agents: { poet: { description: "Writes.", model: "demo" } } };`,
  );
  const args = ["--config", config, "--database", await address()];
  const [a, b] = await Promise.all([served(...args), served(...args)]);

  expect(await a.ask("POST", "", BARD)).toBe(200);
  await expect.poll(b.agents, EVENTUALLY).toEqual({ poet: "Writes.", bard: "Sings." });
  expect(await b.ask("PATCH", "/bard", { description: "Whistles." })).toBe(200);
  expect(await a.ask("PATCH", "/poet", { description: "Rhymes." })).toBe(200);
  await expect.poll(a.agents, EVENTUALLY).toEqual({ poet: "Rhymes.", bard: "Whistles." });
  await expect.poll(b.agents, EVENTUALLY).toEqual({ poet: "Rhymes.", bard: "Whistles." });
  expect(await b.ask("POST", "/bard:disable")).toBe(200);
  await expect.poll(a.agents, EVENTUALLY).toEqual({ poet: "Rhymes." });

  await a.close();
  const c = await served(...args);
  expect(await c.agents()).toEqual({ poet: "Rhymes." });
  expect(await c.ask("POST", "/bard:enable")).toBe(200);
  await expect.poll(b.agents, EVENTUALLY).toEqual({ poet: "Rhymes.", bard: "Whistles." });
  expect(await c.ask("DELETE", "/bard")).toBe(200);
  expect(await c.ask("DELETE", "/poet")).toBe(200);
  await expect.poll(b.agents, EVENTUALLY).toEqual({ poet: "Writes." });
});
