import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentServer, connect, serve } from "convoke";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { CONTENT, DIGEST, aFileMessage, copier, fileIn } from "./a-file.ts";
import { verifies } from "../verifies.ts";

let server: AgentServer;
beforeAll(async () => {
  server = await serve(copier, { port: 0, data: "memory", files: { show: "links" } });
});
afterAll(() => server.close());

test("a client reads a file by its link", async () => {
  const agent = await connect(server.url);
  const { task } = await agent.send(aFileMessage());
  const part = fileIn(task?.artifacts?.[0]?.parts);

  expect(part.file.bytes).toBe(undefined);
  expect(CONTENT.equals(await agent.readFile(part))).toBe(true);
});

verifies(
  "v1-S63",
  "a client rejects a file that does not have the digest of its link",
  async () => {
    const liar = createServer((_, response) => response.end("something else"));
    await new Promise<void>((resolve) => liar.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void liar.close());
    const { port } = liar.address() as AddressInfo;
    const agent = await connect(server.url, { allow: ["127.0.0.1"] });
    const uri = `http://127.0.0.1:${port}/convoke/files/t1/${DIGEST}`;

    await expect(agent.readFile({ kind: "file", file: { uri } })).rejects.toThrow("is damaged");
  },
);

verifies(
  "v1-S63",
  "a client does not fetch a link to a private address of another server",
  async () => {
    const agent = await connect(server.url);
    const uri = `http://169.254.169.254/convoke/files/t1/${DIGEST}`;

    await expect(agent.readFile({ kind: "file", file: { uri } })).rejects.toMatchObject({
      kind: "refused",
    });
  },
);

test("convoke tasks show --save saves the files of a task", async () => {
  const agent = await connect(server.url);
  const { task } = await agent.send(aFileMessage());
  const cwd = temporaryFolder();
  const args = ["tasks", "show", server.url, task?.id ?? "", "--save"];

  const program = startConvoke({ cwd, args });
  await program.ended;

  expect(program.stderr).toContain("Saved copy.bin");
  expect(existsSync(join(cwd, "copy.bin"))).toBe(true);
  expect(readFileSync(join(cwd, "copy.bin")).equals(CONTENT)).toBe(true);
});
