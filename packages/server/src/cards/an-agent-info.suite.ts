import type { AgentInfo } from "@convoke/protocol";

/** The card data of an ordinary agent; a test overrides only what matters to it. */
export function anAgentInfo(overrides: Partial<AgentInfo> = {}): AgentInfo {
  return {
    name: "Greeter",
    description: "Greets people by name.",
    version: "1.0.0",
    skills: [{ id: "greet", name: "Greet", description: "Greets.", tags: ["demo"] }],
    inputModes: ["text/plain"],
    outputModes: ["text/plain"],
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart: false,
    ...overrides,
  };
}
