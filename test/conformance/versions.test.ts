import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { jsonRpcSpeaker, speakersOf, speakersTo } from "./speakers.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";

const server = useServer(conformanceAgent());
const strict = useServer(conformanceAgent(), { strict: true });

describe.each(speakersTo(server))("a version over $binding $version", (speaker) => {
  verifies(
    ["v1-S7", "seed-C28"],
    "that is empty is derived from the format of the request",
    async () => {
      await expectServed(speaker, "");
    },
  );

  verifies("v1-S6", "that is not supported is rejected, and the message names it", async () => {
    const refusal = await refusalOf(ask(speaker, "1.1"));

    expect(refusal.reason).toBe("VersionNotSupported");
    expect(refusal.message).toContain("1.1");
    if (speaker.binding === "rest") expect(refusal.http).toBe(400);
    if (speaker.binding === "grpc") expect(refusal.grpc).toBe(speaker.version === "1.0" ? 9 : 12);
  });
});

describe.each(speakersTo(server).filter(({ binding }) => binding !== "jsonrpc"))(
  "over $binding $version",
  (speaker) => {
    verifies("v1-S6", "a version that contradicts the URL is rejected", async () => {
      const refusal = await refusalOf(ask(speaker, speaker.version === "1.0" ? "0.3" : "1.0"));

      expect(refusal.reason).toBe("VersionNotSupported");
    });
  },
);

describe.each(["0.3", "1.0"] as const)("over JSON-RPC %s", (version) => {
  const other = version === "1.0" ? "0.3" : "1.0";

  verifies("seed-C28", "the method wins if the version contradicts it", async () => {
    await expectServed(jsonRpcSpeaker(server, version), other);
  });

  verifies("v1-S6", "a strict server accepts no method of another version", async () => {
    const refusal = await refusalOf(ask(jsonRpcSpeaker(strict, version), other));

    expect(refusal.code).toBe(-32601);
  });
});

describe("a request without a version", () => {
  verifies(
    ["v1-S7", "seed-C28"],
    "and with an unknown method is rejected in the 0.3 format",
    async () => {
      const answer = await fetch(server.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tasks/dance", params: {} }),
      });

      expect(await answer.json()).toMatchObject({
        jsonrpc: "2.0",
        id: 7,
        error: { code: -32601, data: { method: "tasks/dance" } },
      });
    },
  );

  verifies("v1-S6", "in its headers may have it in the query", async () => {
    const refusal = await refusalOf(
      ask(jsonRpcSpeaker({ url: `${server.url}?A2A-Version=99.0` }, "0.3"), undefined),
    );

    expect(refusal.reason).toBe("VersionNotSupported");
  });

  verifies("seed-C28", "gets both versions at one URL, each in its own format", async () => {
    const [old, current] = [jsonRpcSpeaker(server, "0.3"), jsonRpcSpeaker(server, "1.0")];

    const told = [await ask(old, ""), await ask(current, "")];

    expect(told[0]).toMatchObject({ kind: "task", status: { state: "completed" } });
    expect(told[1]).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
    expect(told[1]).not.toHaveProperty("task.kind");
  });
});

describe.each(speakersOf(server, "1.0"))("an unknown version over $binding", (speaker) => {
  verifies(["v1-S6", "v1-S49"], "is rejected in the 1.0 format", async () => {
    const { details } = await refusalOf(ask(speaker, "99.0"));

    expect(details[0]).toMatchObject({
      reason: "VERSION_NOT_SUPPORTED",
      domain: "a2a-protocol.org",
      metadata: { requested: "99.0" },
    });
    expect(details[0]?.metadata?.["supported"]).toContain("1.0");
  });
});

/** Sends a request with that version. */
function ask(speaker: Speaker, version: string | undefined): Promise<unknown> {
  const params = speaker.codec.encodeSendMessage(aRequest("hello"));
  const headers = version === undefined ? {} : { "a2a-version": version };
  return speaker.call("sendMessage", params, headers);
}

async function expectServed(speaker: Speaker, version: string): Promise<void> {
  const answer = speaker.codec.decodeSendResult(await ask(speaker, version));

  expect(answer).toMatchObject({ kind: "task", status: { state: "completed" } });
}
