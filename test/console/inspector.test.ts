import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, defineAgent, serve } from "convoke";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { WITHIN_MS } from "../browser/chromium.ts";
import type { SdkServer } from "../client/sdk-server.ts";
import { startSdkV03 } from "../client/sdk-server-v03.ts";
import { startSdkV1 } from "../client/sdk-server-v1.ts";
import { needsBrowser, ready } from "./visitor.ts";

const visit = needsBrowser();

/** A console that `convoke console` has opened. */
interface OpenConsole {
  readonly url: string;
  readonly stdout: string;
  /** Stops it as Ctrl+C does. Returns the exit code. */
  stop(): Promise<number>;
}

/** Runs `convoke console` until it says where the console is. */
async function openConsole(args: readonly string[], home: string): Promise<OpenConsole> {
  const stop = new AbortController();
  const address = Promise.withResolvers<{ readonly url: string; readonly stdout: string }>();
  const ended = runCli(["console", ...args], {
    env: { HOME: home },
    signal: stop.signal,
    onStdout: (stdout) => {
      const [, url] = /Look at {2}(\S+)console/.exec(stdout) ?? [];
      if (url !== undefined) address.resolve({ url, stdout });
    },
  });
  void ended.then(({ stderr }) => address.reject(new Error(stderr)));
  const opened = await address.promise;
  const end = async (): Promise<number> => {
    stop.abort();
    return (await ended).code;
  };
  onTestFinished(async () => void (await end()));
  return { ...opened, stop: end };
}

async function aHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "convoke-inspector-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

async function read<Body>(url: string, init?: RequestInit): Promise<Body> {
  const response = await fetch(url, init);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

interface AboutBody {
  readonly agents: readonly [
    {
      readonly id: string;
      readonly remote: { readonly version: string; readonly card: { readonly name: string } };
    },
  ];
}

describe.each([
  { version: "0.3", startSdk: startSdkV03 },
  { version: "1.0", startSdk: startSdkV1 },
])("convoke console on a server of the official SDK for $version", ({ version, startSdk }) => {
  let sdk: SdkServer | undefined;
  const start = async (): Promise<SdkServer> => (sdk ??= await startSdk());
  const flags = ({ url, allow }: SdkServer): readonly string[] => [
    url,
    ...allow.flatMap((host) => ["--allow", host]),
  ];
  afterAll(() => sdk?.close());

  test(
    "shows the card of the agent, forwards a chat, and keeps its log after a restart",
    async () => {
      const home = await aHome();
      const console = await openConsole(flags(await start()), home);
      const { agents } = await read<AboutBody>(`${console.url}convoke/about`);
      const [{ remote }] = agents;
      expect(remote).toMatchObject({ version, card: { name: "Echo of the SDK" } });

      const agent = await connect(console.url);
      const answer = await agent.send("hello there");
      agent.close();
      expect(answer.text).toBe("hello there");

      expect(await console.stop()).toBe(0);
      const again = await openConsole(flags(await start()), home);
      const { tasks } = await read<{ tasks: { id: string; firstWords: string }[] }>(
        `${again.url}convoke/tasks`,
      );
      expect(tasks.map(({ firstWords }) => firstWords)).toEqual(["hello there"]);
      const { events } = await read<{ events: { event: { kind: string } }[] }>(
        `${again.url}convoke/tasks/${tasks[0]?.id}/log`,
      );
      expect(events.map(({ event }) => event.kind)).toContain("artifact-update");
    },
    WITHIN_MS,
  );

  test(
    "shows the card of the agent itself on its page",
    async () => {
      const server = await start();
      const console = await openConsole([...flags(server), "--data", "memory"], await aHome());
      const { agents } = await read<AboutBody>(`${console.url}convoke/about`);
      const { page, complaints } = await visit(`${console.url}console/agents/${agents[0].id}`);
      await ready(page);
      expect(await page.locator(".page").innerText()).toContain(
        "This is the card of the agent there",
      );
      expect(complaints).toEqual([]);
    },
    WITHIN_MS,
  );
});

describe("convoke console", () => {
  test("shows the answer of an agent that does not stream", async () => {
    const parrot = defineAgent({
      name: "Parrot",
      description: "Repeats.",
      run: ({ text }) => text,
    });
    await using server = await serve(parrot, { port: 0, data: "memory", streaming: false });
    const console = await openConsole([server.url, "--data", "memory"], await aHome());
    const agent = await connect(console.url);
    onTestFinished(() => agent.close());

    expect((await agent.stream("hi").result).text).toBe("hi");
  });

  test("says that nothing answers at an address, with exit code 3", async () => {
    const { code, stderr } = await runCli(["console", "http://127.0.0.1:9"], {
      env: { HOME: await aHome() },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("127.0.0.1:9");
  });

  test("is not reachable for a page of another origin", async () => {
    const parrot = defineAgent({
      name: "Parrot",
      description: "Repeats.",
      run: ({ text }) => text,
    });
    await using server = await serve(parrot, { port: 0, data: "memory" });
    const console = await openConsole([server.url, "--data", "memory"], await aHome());

    const response = await fetch(`${console.url}convoke/tasks:delete`, {
      method: "POST",
      headers: { origin: "https://evil.example", "content-type": "application/json" },
      body: "{}",
    });

    expect(response.status).toBe(403);
    expect(new URL(console.url).hostname).toBe("127.0.0.1");
  });
});
