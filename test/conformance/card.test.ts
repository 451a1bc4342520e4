import type { ProtocolVersion } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { grpcSpeaker, jsonRpcSpeaker, restSpeaker } from "./speakers.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";

const server = useServer(conformanceAgent());
const guarded = useServer(conformanceAgent(), { token: "a-secret" });

interface CardV1 {
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly protocolBinding: string;
    readonly protocolVersion: ProtocolVersion;
  }[];
}

interface CardV03 {
  readonly url: string;
  readonly preferredTransport: string;
  readonly additionalInterfaces: readonly { readonly url: string; readonly transport: string }[];
}

describe("the card", () => {
  verifies("v1-S1", "is where it is looked for, with all that a card must have", async () => {
    const card = await theCard("1.0");

    for (const field of ["name", "description", "version", "capabilities"]) {
      expect(card).toHaveProperty(field);
    }
    for (const list of [
      "supportedInterfaces",
      "defaultInputModes",
      "defaultOutputModes",
      "skills",
    ]) {
      expect((card as Record<string, readonly unknown[]>)[list]?.length).toBeGreaterThan(0);
    }
  });

  verifies("v1-S4", "may be cached, is known by a tag, and has no secret", async () => {
    const url = new URL("/.well-known/agent-card.json", guarded.url);
    const answer = await fetch(url);
    const etag = answer.headers.get("etag") ?? "";

    const again = await fetch(url, { headers: { "if-none-match": etag } });

    expect(answer.headers.get("cache-control")).toMatch(/max-age=\d+/);
    expect(etag).not.toBe("");
    expect(again.status).toBe(304);
    expect(await answer.text()).not.toContain("a-secret");
  });

  verifies(
    ["v1-S2", "v1-S3"],
    "names every binding and version, each where it really is",
    async () => {
      const { supportedInterfaces } = (await theCard("1.0")) as CardV1;

      expect(
        supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`),
      ).toEqual([
        "JSONRPC 1.0",
        "HTTP+JSON 1.0",
        "GRPC 1.0",
        "JSONRPC 0.3",
        "HTTP+JSON 0.3",
        "GRPC 0.3",
      ]);
      for (const { url, protocolBinding, protocolVersion } of supportedInterfaces) {
        await expectAnswer(speakerAt(url, protocolBinding, protocolVersion));
      }
    },
  );

  verifies("v03-S3", "of 0.3 has its preferred transport at its url, and all others", async () => {
    const card = (await theCard("0.3")) as CardV03;
    const main = { url: card.url, transport: card.preferredTransport };

    expect(card.additionalInterfaces).toContainEqual(main);
    expect(card.additionalInterfaces.map(({ transport }) => transport).toSorted()).toEqual([
      "GRPC",
      "HTTP+JSON",
      "JSONRPC",
    ]);
    for (const { url, transport } of [main, ...card.additionalInterfaces]) {
      await expectAnswer(speakerAt(url, transport, "0.3"));
    }
  });
});

async function theCard(version: ProtocolVersion): Promise<unknown> {
  const answer = await fetch(new URL("/.well-known/agent-card.json", server.url), {
    headers: { "a2a-version": version },
  });
  return answer.json();
}

/** Who speaks that binding, by the name that cards give it. */
function speakerAt(url: string, binding: string, version: ProtocolVersion): Speaker {
  if (binding === "JSONRPC") return jsonRpcSpeaker({ url }, version);
  if (binding === "HTTP+JSON") return restSpeaker({ url }, version);
  // gRPC is found by host and port alone.
  return grpcSpeaker({ url: `http://${url}` }, version);
}

async function expectAnswer(speaker: Speaker): Promise<void> {
  const { status } = await speaker.sendTask(aRequest("hello"));

  expect(status.state).toBe("completed");
}
