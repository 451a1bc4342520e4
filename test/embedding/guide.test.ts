import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const file = (path: string): Promise<string> =>
  readFile(new URL(`../../${path}`, import.meta.url), "utf8");

test.each([
  ["Express", "examples/express/server.ts"],
  ["Fastify", "examples/fastify/server.ts"],
  ["Hono", "examples/hono/server.ts"],
  ["Whatever speaks fetch", "examples/fetch/app.ts"],
])("the code in the guide for %s is the code of its example", async (heading, example) => {
  const guide = await file("docs/guide/embedding.md");

  const section = guide.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  const [, snippet = "(none)"] = /```ts\n(.*?)```/s.exec(section ?? "") ?? [];

  expect(await file(example)).toContain(snippet);
});
