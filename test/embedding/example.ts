import { connect } from "convoke";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { type Program, start } from "../harness/program.ts";
import { SDKS_V1 } from "../interop/sdk-v1.ts";
import { chunksOf, collect, textOfChunks } from "../interop/story.ts";

/** An empty folder until the test ends. */
export async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "convoke-example-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** An example as a user starts it, until the test ends, and the URL that it prints. */
export async function startExample(
  file: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly program: Program; readonly url: string }> {
  const path = fileURLToPath(new URL(`../../examples/${file}`, import.meta.url));
  const program = start(process.execPath, ["--conditions=@convoke/source", path], {
    cwd: await aFolder(),
    env: { PORT: "0", ...env },
  });
  const url = await program.until((stdout) => /is at (http:\S+)/.exec(stdout)?.[1]);
  return { program, url };
}

/**
 * Asserts that our client and the official one receive the same chunks, over each transport that an
 * app can have.
 */
export async function expectChunks(url: string, fetchImpl: typeof fetch = fetch): Promise<void> {
  const agent = await connect(url, { fetch: fetchImpl });
  const texts: string[] = [];
  for await (const event of agent.stream("5")) {
    if (event.kind !== "artifact-update") continue;
    for (const part of event.artifact.parts) if (part.kind === "text") texts.push(part.text);
  }
  // The last one is empty: it marks the end of the artifact.
  expect(texts.join("")).toBe("1 2 3 4 5 ");
  expect(texts.length).toBeGreaterThanOrEqual(5);

  for (const sdk of SDKS_V1.filter(({ transport }) => transport !== "GRPC")) {
    const seen = await collect((await sdk.discover(url, fetchImpl)).stream("5"));
    expect(textOfChunks(seen), sdk.name).toBe("1 2 3 4 5 ");
    expect(chunksOf(seen).length).toBeGreaterThanOrEqual(5);
  }
}
