import type { Binding } from "@convoke/check/wire";
import { parseVersion } from "@convoke/protocol";
import type { AgentInterface } from "../target.ts";

const BINDINGS: Readonly<Record<string, Binding>> = {
  JSONRPC: "jsonrpc",
  "HTTP+JSON": "rest",
  GRPC: "grpc",
};

const CARD_PATH = "/.well-known/agent-card.json";

/** The address of the card of an agent. */
export function cardUrl(agent: string): string {
  return `${agent.replace(/\/$/, "")}${CARD_PATH}`;
}

interface CardJson {
  readonly url?: string;
  readonly preferredTransport?: string;
  readonly protocolVersion?: string;
  readonly additionalInterfaces?: readonly { readonly url: string; readonly transport: string }[];
  readonly supportedInterfaces?: readonly {
    readonly url: string;
    readonly protocolBinding: string;
    readonly protocolVersion: string;
    readonly tenant?: string;
  }[];
}

/** Every interface that the card of an agent lists, in either form of the card. */
export async function readInterfaces(agent: string): Promise<readonly AgentInterface[]> {
  const response = await fetch(cardUrl(agent), { headers: { "a2a-version": "1.0" } });
  const card = (await response.json()) as CardJson;
  const listed = (card.supportedInterfaces ?? []).filter(({ tenant = "" }) => tenant === "");
  const entries = [
    ...listed.map((one) => [one.url, one.protocolBinding, one.protocolVersion] as const),
    ...[
      ...(card.url === undefined
        ? []
        : [{ url: card.url, transport: card.preferredTransport ?? "JSONRPC" }]),
      ...(card.additionalInterfaces ?? []),
    ].map(({ url, transport }) => [url, transport, card.protocolVersion ?? "0.3"] as const),
  ];
  const found = entries.flatMap(([url, name, given]) => {
    const binding = BINDINGS[name];
    const version = parseVersion(given);
    if (binding === undefined || version === undefined) return [];
    return [{ binding, version, url: url.includes("://") ? url : `http://${url}` }];
  });
  const unique = new Map(found.map((one) => [`${one.binding} ${one.version}`, one]));
  return [...unique.values()];
}
