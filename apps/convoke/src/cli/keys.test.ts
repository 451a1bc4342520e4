import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyCard } from "@convoke/protocol";
import { apiKeys } from "@convoke/server";
import { expect, onTestFinished, test } from "vitest";
import { readCard } from "../host/settings.ts";
import { runCli } from "./testing/run-cli.suite.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

function temporaryFile(name = "key.json"): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

test("a new key is readable only by its owner, and signs the card of a server", async () => {
  const file = temporaryFile();

  const { code, stdout } = await runCli(["keys", "card", "--out", file]);
  const { url } = await serveDemo({ card: readCard({ CONVOKE_CARD_KEY: file }) });
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as {
    keys: JsonWebKey[];
  };

  expect(code).toBe(0);
  expect(stdout).toContain(`CONVOKE_CARD_KEY=${file}`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await verifyCard(card, { keys })).kind).toBe("valid");
});

test("an existing key is not overwritten", async () => {
  const file = temporaryFile();
  writeFileSync(file, "precious");

  const { code, stderr } = await runCli(["keys", "card", "--out", file]);

  expect(code).toBe(2);
  expect(stderr).toContain("exists already");
  expect(readFileSync(file, "utf8")).toBe("precious");
});

test("an unknown algorithm is rejected with the list of known ones", async () => {
  const { code, stderr } = await runCli(["keys", "card", "--alg", "HS256"]);

  expect(code).toBe(2);
  expect(stderr).toContain("ES256, ES384, EdDSA");
});

test.each([
  ["no JSON", "is not JSON"],
  ["{}", "has no kid, alg and privateKey"],
])("a key file with %j says how to create one", (content, problem) => {
  const file = temporaryFile();
  writeFileSync(file, content);

  expect(() => readCard({ CONVOKE_CARD_KEY: file })).toThrow(problem);
  expect(() => readCard({ CONVOKE_CARD_KEY: file })).toThrow("convoke keys card");
});

test("a key that was created is accepted, listed without its secret, rotated and revoked", async () => {
  const file = temporaryFile("api-keys.json");
  const keys = (...words: string[]) => runCli(["keys", ...words, "--file", file]);

  const created = await keys("create", "ci", "--owner", "ann", "--scopes", "read, admin");
  const key = created.stdout.trim();
  const { url } = await serveDemo({ auth: [apiKeys({ file })] });
  const status = async (given: string): Promise<number> =>
    (await fetch(`${url}/v1/tasks/x`, { headers: { "x-api-key": given } })).status;

  expect(created.stderr).toContain(`Serve with CONVOKE_API_KEYS=${file}`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect([await status(key), await status("wrong")]).toEqual([404, 401]);

  const again = await keys("create", "ci");
  expect(again.code).toBe(2);
  expect(again.stderr).toContain("convoke keys rotate ci");

  const next = (await keys("rotate", "ci", "--grace", "1h")).stdout.trim();
  await expect.poll(() => status(next), { timeout: 20_000 }).toBe(404);
  expect(await status(key)).toBe(404);

  const { stdout } = await keys("list");
  expect(stdout).toMatch(/^ci active [0-9a-f]{12} owner ann, scopes read admin, created .*expires/);
  const [, second] = (await keys("list", "--json")).stdout.trim().split("\n");
  expect(JSON.parse(second!)).toMatchObject({ name: "ci", owner: "ann", state: "active" });
  expect(second).not.toContain("hash");

  expect((await keys("revoke", "ci")).stdout).toBe("2 key(s) of ci are revoked.\n");
  await expect.poll(() => status(next), { timeout: 20_000 }).toBe(401);
});

test.each([
  [["create"], "Give the name of one key"],
  [["create", "ci", "--expires", "soon"], "--expires must be minutes, hours or days"],
  [["rotate", "nobody"], "There is no active key with the name nobody."],
  [["revoke", "nobody"], "There is no key with the name or id nobody."],
  [["list"], "There is no file"],
])("convoke keys %j is refused in one sentence", async (words, problem) => {
  const { code, stderr } = await runCli(["keys", ...words, "--file", temporaryFile()]);

  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});
