import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyCard } from "@convoke/protocol";
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
