import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiKey, rotateApiKey, updateKeyFile } from "@convoke/server";
import { apiKeys, mount, serve } from "convoke";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { aRequest } from "../conformance/requests.ts";
import { refusalOf } from "../conformance/refusal.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { knowingAgent } from "./a-knowing-agent.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-keys-"));
  file = join(folder, "api-keys.json");
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

/** An agent with the keys of the file. The result is the status of a request with these headers. */
async function anAgent(log: string[] = []) {
  const warn = (message: string): void => void log.push(message);
  const logger = { debug: warn, info: warn, warn, error: warn };
  const mounted = await mount(knowingAgent, { data: "memory", auth: [apiKeys({ file })], logger });
  onTestFinished(() => mounted.close());
  return async (headers: Record<string, string>) => {
    const answer = await mounted.fetch(
      new Request("http://localhost/tasks", { headers: { ...headers, "a2a-version": "1.0" } }),
    );
    return { status: answer.status, text: await answer.text() };
  };
}

const ann = { name: "ci", owner: "ann", tenant: "acme", scopes: ["read"] };

verifies("R114", "a key identifies its owner, tenant and scopes on every binding", async () => {
  const { key, record } = createApiKey(ann);
  const auth = [apiKeys({ keys: [record] })];
  await using server = await serve(knowingAgent, { port: 0, data: "memory", auth });

  for (const speaker of speakersTo(server)) {
    for (const headers of [{ "x-api-key": key }, { authorization: `Bearer ${key}` }]) {
      const { artifacts } = await speaker.with(headers).sendTask(aRequest("who?"));
      const { text } = artifacts![0]!.parts[0] as { readonly text: string };
      expect(JSON.parse(text)).toEqual({
        owner: '["acme","ann"]',
        tenant: "acme",
        scopes: ["read"],
        claims: { apiKey: "ci" },
      });
    }
    const wrong = speaker.with({ "x-api-key": `${key.slice(0, -1)}~` });
    expect((await refusalOf(wrong.sendTask(aRequest("who?")))).message).toBe(
      "Unauthorized: the API key is not valid",
    );
  }
});

describe("is rejected with 401", () => {
  const { key, record } = createApiKey({ name: "ci" });
  const past = new Date(Date.now() - 1000).toISOString();
  const other = createApiKey({ name: "other" }).key;
  test.each<[string, object, string, string]>([
    ["an expired key", { expiresAt: past }, key, "the API key ci is expired"],
    ["a revoked key", { revokedAt: past }, key, "the API key ci is revoked"],
    ["an unknown key", {}, other, "the API key is not valid"],
    ["a key with our id and another secret", {}, key.slice(0, 17) + other.slice(17), "not valid"],
    ["the hash of a key", {}, record.hash, "not valid"],
    ["an empty key", {}, "", "the API key is not valid"],
  ])("%s", async (_, change, given, problem) => {
    await writeFile(file, JSON.stringify({ keys: [{ ...record, ...change }] }));
    const get = await anAgent();

    const { status, text } = await get({ "x-api-key": given });

    expect(status).toBe(401);
    expect(text).toContain(problem);
  });
});

test("a file has no key, only its hash", async () => {
  const { key, record } = createApiKey({ name: "ci" });
  updateKeyFile(file, () => [record]);

  const text = await readFile(file, "utf8");

  expect(text).toContain(record.hash);
  expect(text).not.toContain(key.slice(-20));
});

test("a rotated key is valid until its grace period is over, next to the new one", async () => {
  const old = createApiKey(ann);
  const { key, record, records } = rotateApiKey([old.record], "ci", { graceMs: 60_000 });
  updateKeyFile(file, () => records);
  const get = await anAgent();

  expect((await get({ "x-api-key": old.key })).status).toBe(200);
  expect((await get({ "x-api-key": key })).status).toBe(200);
  expect(record).toMatchObject(ann);

  const later = rotateApiKey([old.record], "ci", { graceMs: 0, now: Date.now() - 1 });
  updateKeyFile(file, () => later.records);
  const after = await anAgent();
  expect((await after({ "x-api-key": old.key })).text).toContain("expired");
  expect((await after({ "x-api-key": later.key })).status).toBe(200);
});

test("a change of the file is noticed without a restart, and a broken file changes nothing", async () => {
  const { key, record } = createApiKey({ name: "ci" });
  const log: string[] = [];
  const get = await anAgent(log);
  const status = async (): Promise<number> => (await get({ "x-api-key": key })).status;
  expect(await status()).toBe(401);
  expect(log).toContain("there are no API keys yet; create one with convoke keys create");

  updateKeyFile(file, () => [record]);
  await expect.poll(status, { timeout: 20_000 }).toBe(200);

  await writeFile(file, "{");
  await expect
    .poll(async () => (await status(), log.join()), { timeout: 20_000 })
    .toContain("changed to something that cannot be read");
  expect(await status()).toBe(200);

  await rm(file);
  await expect.poll(status, { timeout: 20_000 }).toBe(401);
});

test.each([
  ["{", "is not JSON"],
  ['{"keys": [{"id": "x"}]}', "keys[0].name must be a text"],
])("a file with %j stops the start", async (content, problem) => {
  await writeFile(file, content);

  await expect(anAgent()).rejects.toThrow(problem);
});

test("without a path, the file is in the data folder", async () => {
  const { key, record } = createApiKey({ name: "ci" });
  updateKeyFile(file, () => [record]);
  await using mounted = await mount(knowingAgent, { data: folder, auth: [apiKeys()] });

  const request = new Request("http://localhost/tasks", {
    headers: { "x-api-key": key, "a2a-version": "1.0" },
  });

  expect((await mounted.fetch(request)).status).toBe(200);
});
