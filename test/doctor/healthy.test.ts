import { createJsonLogger } from "@convoke/engine";
import { bearer, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { checkedAgent } from "../check/check-agent.ts";
import type { PeerServer } from "../check/peer-server.ts";
import { startSdkV03 } from "../check/sdk-v03-server.ts";
import { startSdkV1 } from "../check/sdk-v1-server.ts";
import { examine } from "./examine.ts";

const ORIGIN = "https://app.example";

const SLOW = { text: "slow", minSpreadMs: 200 };

async function startOwn(options: Parameters<typeof serve>[1] = {}): Promise<string> {
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(checkedAgent, { port: 0, data: "memory", logger, ...options });
  onTestFinished(() => server.close());
  return server.url;
}

describe("nothing is wrong with", () => {
  test("a Convoke server, with streams, browsers and every binding", async () => {
    const url = await startOwn({ cors: { origins: [ORIGIN] } });

    const { verdict, ids, findings } = await examine(url, { ...SLOW, origin: ORIGIN });

    expect(ids, JSON.stringify(findings)).toEqual([]);
    expect(verdict).toBe("healthy");
    expect(findings.skipped).toEqual([]);
  });

  test("a Convoke server that requires a token, with and without it", async () => {
    const url = await startOwn({ auth: [bearer("secret")] });

    const known = await examine(url, { credentials: { authorization: "Bearer secret" } });
    const unknown = await examine(url);

    expect(known.ids, JSON.stringify(known.findings)).toEqual([]);
    expect(unknown.ids, JSON.stringify(unknown.findings)).toEqual([]);
  });
});

describe.each([
  ["0.3", startSdkV03],
  ["1.0", startSdkV1],
] as const)("the official SDK for A2A %s", (_, start) => {
  let peer: PeerServer;
  beforeAll(async () => void (peer = await start()));
  afterAll(() => peer.close());

  test("is healthy, on every binding", async () => {
    const { verdict, ids, findings } = await examine(peer.url, { ...SLOW, allow: ["127.0.0.1"] });

    expect(ids, JSON.stringify(findings)).toEqual([]);
    expect(verdict).toBe("healthy");
    expect(findings.skipped).toEqual([]);
  });
});
