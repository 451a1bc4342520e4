import type { AgentCardFacts } from "../../card/facts.ts";

/** 0.3 §5.5. */
export function encodeCard(facts: AgentCardFacts): object {
  const { info, bearer } = facts;
  // 0.3 has a field of its own for it.
  const { extendedAgentCard = false, ...capabilities } = facts.capabilities;
  const interfaces = facts.interfaces.filter(({ version }) => version === "0.3");
  return {
    protocolVersion: "0.3.0",
    name: info.name,
    description: info.description,
    url: interfaces[0]?.url,
    preferredTransport: interfaces[0]?.binding,
    additionalInterfaces: interfaces.map(({ url, binding }) => ({ url, transport: binding })),
    ...(info.iconUrl && { iconUrl: info.iconUrl }),
    ...(info.provider && { provider: info.provider }),
    version: info.version,
    ...(info.documentationUrl && { documentationUrl: info.documentationUrl }),
    // The log keeps every transition; 1.0 has no word for it.
    capabilities: { ...capabilities, stateTransitionHistory: true },
    ...(bearer && {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      security: [{ bearer: [] }],
    }),
    defaultInputModes: info.inputModes,
    defaultOutputModes: info.outputModes,
    skills: info.skills,
    supportsAuthenticatedExtendedCard: extendedAgentCard,
  };
}
