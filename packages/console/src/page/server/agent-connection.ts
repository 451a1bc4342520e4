import { type BindingName, type RemoteAgent, connect } from "@convoke/client";
import type { ProtocolVersion, RawCard } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { AgentSummary } from "./about.ts";
import { SERVER_URL, ask, authOptions, signIns } from "./session.ts";

/** How the page speaks to an agent. By default as the card prefers. */
export interface AgentProtocol {
  readonly version?: ProtocolVersion | undefined;
  readonly binding?: BindingName | undefined;
}

const connections = new Map<string, Promise<RemoteAgent>>();

/** The connection to an agent of the server, which all conversations with it share. */
export function connectTo(agent: AgentSummary, protocol: AgentProtocol = {}): Promise<RemoteAgent> {
  const key = JSON.stringify([agent.id, protocol, signIns.value]);
  const known = connections.get(key);
  if (known !== undefined) return known;
  const connecting = openConnection(agent, protocol);
  connections.set(key, connecting);
  connecting.catch(() => connections.delete(key));
  return connecting;
}

async function openConnection(
  { path }: AgentSummary,
  { version, binding }: AgentProtocol,
): Promise<RemoteAgent> {
  const cardPath = `${path.replace(/\/$/, "")}/.well-known/agent-card.json`;
  const card = await ask<RawCard>(cardPath);
  return connect(atThisOrigin(card), {
    cardUrl: new URL(cardPath.slice(1), SERVER_URL).href,
    version,
    bindings: binding === undefined ? ["jsonrpc", "rest"] : [binding],
    ...authOptions(),
  });
}

/**
 * The card with the addresses of this origin. It may name the server by another host, such as 127.0.0.1
 * instead of localhost, and the page's policy lets it speak to its own origin only. The signatures are about the
 * original.
 */
function atThisOrigin(given: RawCard): RawCard {
  const { signatures: _, ...card } = given;
  return {
    ...card,
    ...(typeof card["url"] === "string" && { url: here(card["url"]) }),
    additionalInterfaces: interfacesHere(card["additionalInterfaces"]),
    supportedInterfaces: interfacesHere(card["supportedInterfaces"]),
  };
}

function interfacesHere(list: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(list)) return undefined;
  return list.map((one: unknown) =>
    isObject(one) && typeof one["url"] === "string" ? { ...one, url: here(one["url"]) } : one,
  );
}

function here(address: string): string {
  const url = URL.parse(address);
  if (url === null || !url.protocol.startsWith("http")) return address;
  return new URL(url.pathname + url.search, SERVER_URL).href;
}
