import { type AgentExtension, EXTENSIONS } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { DECLARED, FORMAL, extensionAgent } from "./extension-agent.ts";

interface Card {
  readonly capabilities: { readonly extensions: readonly AgentExtension[] };
}

const ADDED = { uri: "urn:example:for-friends:1", description: "Only for friends." };
const { skill } = EXTENSIONS;
const server = useServer(extensionAgent(), {
  token: "a-secret",
  extendedCard: () => ({ extensions: [ADDED] }),
});
const requiring = useServer(extensionAgent({ extensions: [{ uri: skill.uri, required: true }] }));
const OWN = [EXTENSIONS.resumption.uri, EXTENSIONS.idempotency.uri, skill.uri];

async function extensionsAt(url: string, version?: string): Promise<readonly AgentExtension[]> {
  const answer = await fetch(new URL("/.well-known/agent-card.json", url), {
    headers: version === undefined ? {} : { "a2a-version": version },
  });
  const { capabilities } = (await answer.json()) as Card;
  return capabilities.extensions;
}

describe.each(["0.3", "1.0", undefined])("the card of version %s", (version) => {
  verifies("v1-S30", "declares the agent's extensions, and then the server's", async () => {
    const [first, ...others] = await extensionsAt(server.url, version);

    expect(first).toEqual(DECLARED[0]);
    expect(others.map(({ uri, required }) => ({ uri, required }))).toEqual(
      OWN.map((uri) => ({ uri, required: false })),
    );
  });

  test("declares an extension of ours as the agent describes it, once", async () => {
    const declared = await extensionsAt(requiring.url, version);

    expect(declared.filter(({ uri }) => uri === skill.uri)).toEqual([
      { uri: skill.uri, required: true },
    ]);
  });
});

describe.each(speakersTo(server))("the extended card over $binding $version", (speaker) => {
  verifies("v1-S30", "has all of them, and those that it adds", async () => {
    const known = speaker.with({ authorization: "Bearer a-secret" });

    const { capabilities } = (await known.call("getExtendedCard", {})) as Card;

    expect(capabilities.extensions.map(({ uri }) => uri)).toEqual([FORMAL, ADDED.uri, ...OWN]);
    expect(capabilities.extensions[0]).toMatchObject(DECLARED[0] ?? {});
  });
});
