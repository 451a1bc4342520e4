import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { blocksOf } from "../../test/docs/docs-pages.ts";
import { aFolder } from "../../test/embedding/example.ts";
import { succeed } from "../../test/harness/program.ts";
import type { Sdk } from "../../test/interop/sdk-client.ts";
import { SDKS_V03 } from "../../test/interop/sdk-v03.ts";
import { SDKS_V1, SDK_V1 } from "../../test/interop/sdk-v1.ts";
import { asTask, collect, textOfChunks, textOfTask } from "../../test/interop/story.ts";
import { openBridge } from "./bridge.ts";
import { startNewAgent } from "./new-world.ts";
import { startOldAgent } from "./old-world.ts";

test("the story prints what the README says", async () => {
  const file = fileURLToPath(new URL("start.ts", import.meta.url));
  const args = ["--conditions=@convoke/source", file];

  const output = await succeed(process.execPath, args, { cwd: await aFolder() });

  expect(output).toBe(blocksOf("examples/bridge/README.md", "text")[0]);
});

describe("over the bridge", () => {
  test.each(overHttp(SDKS_V03))("$name streams from an agent of 1.0", async (sdk) => {
    const agent = await startNewAgent();
    onTestFinished(() => agent.close());
    const client = await sdk.discover(await aBridge(agent.url, "forecast"));

    const seen = await collect(client.stream("How will the winter be?"));

    expect(textOfChunks(seen)).toBe("The next winter will be mild.");
    expect(seen.at(-1)).toMatchObject({ kind: "status", state: "completed", final: true });
  });

  test.each(overHttp(SDKS_V1))("$name streams from an agent of 0.3", async (sdk) => {
    const agent = await startOldAgent();
    onTestFinished(() => agent.close());
    const client = await sdk.discover(await aBridge(agent.url, "archive"));

    const seen = await collect(client.stream("How was the winter of 1963?"));

    expect(textOfChunks(seen)).toBe("In 1963 the winter was cold.");
    expect(seen.at(-1)).toMatchObject({ kind: "status", state: "completed" });
  });

  test("a question of an agent can be answered after a restart of the bridge", async () => {
    const agent = await startOldAgent();
    onTestFinished(() => agent.close());
    const data = await aFolder();
    const first = await openBridge([agent], { port: 0, data });
    const path = "/agents/archive/";
    const before = await SDK_V1.discover(new URL(path, first.url).href);
    const asked = asTask(await before.send("How was the winter?"));
    expect(asked).toMatchObject({ state: "input-required", text: "Which year?" });
    await first.close();

    const second = await openBridge([agent], { port: 0, data });
    onTestFinished(() => second.close());
    const after = await SDK_V1.discover(new URL(path, second.url).href);
    const done = asTask(await after.send("1963", { taskId: asked.taskId }));

    expect(done.state).toBe("completed");
    expect(textOfTask(done)).toBe("In 1963 the winter was cold.");
  });
});

/** A bridge to one agent, and the address of the agent there. */
async function aBridge(url: string, id: string): Promise<string> {
  const bridge = await openBridge([{ url }], { port: 0, data: "memory" });
  onTestFinished(() => bridge.close());
  return new URL(`/agents/${id}/`, bridge.url).href;
}

/** Without gRPC, which has no paths: agents of a host are found there by their tenants. */
function overHttp(sdks: readonly Sdk[]): readonly Sdk[] {
  return sdks.filter(({ transport }) => transport !== "GRPC");
}
