import type { AgentCardFacts } from "../../card/facts.ts";

/** 1.0 §8. Required fields are always there; what is unset is left out. */
export function encodeCard(facts: AgentCardFacts): object {
  const { info, interfaces, capabilities, bearer } = facts;
  return {
    name: info.name,
    description: info.description,
    supportedInterfaces: interfaces.map(({ url, binding, version, tenant }) => ({
      url,
      protocolBinding: binding,
      ...(tenant !== undefined && { tenant }),
      protocolVersion: version,
    })),
    ...(info.provider && { provider: info.provider }),
    version: info.version,
    ...(info.documentationUrl && { documentationUrl: info.documentationUrl }),
    capabilities,
    ...(bearer && {
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    }),
    defaultInputModes: info.inputModes,
    defaultOutputModes: info.outputModes,
    skills: info.skills,
    ...(info.iconUrl && { iconUrl: info.iconUrl }),
  };
}
