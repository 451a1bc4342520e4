import { type AgentExtension, type AgentInfo, EXTENSIONS } from "@convoke/protocol";

/** What this server does itself, and so for every agent; nothing that is only planned. */
const OWN: readonly AgentExtension[] = [
  EXTENSIONS.resumption,
  EXTENSIONS.idempotency,
  EXTENSIONS.skill,
].map(({ uri, description }) => ({ uri, description, required: false }));

/** What the card declares: the agent's own, then the server's. One that both have is told as the agent tells it. */
export function declaredExtensions({ extensions = [] }: AgentInfo): readonly AgentExtension[] {
  const named = new Set(extensions.map(({ uri }) => uri));
  return [...extensions, ...OWN.filter(({ uri }) => !named.has(uri))];
}
