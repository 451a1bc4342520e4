import { A2AError } from "@convoke/protocol";
import type { Call } from "./call.ts";

/**
 * Refuses a message whose sender does not ask for an extension that the agent requires (1.0
 * §3.3.4). It is asked of messages alone: they begin work, on terms that both sides must know.
 * Whatever else there is reads or ends work that was begun so, and must not get out of reach.
 */
export function checkRequired({ engine, extensions }: Call): void {
  const { extensions: declared = [] } = engine.agent.info;
  const missing = declared
    .filter(({ uri, required }) => required === true && extensions?.has(uri) !== true)
    .map(({ uri }) => uri);
  if (missing.length === 0) return;
  const uris = missing.join(", ");
  throw new A2AError(
    "ExtensionSupportRequired",
    `the agent requires ${uris}; send the header A2A-Extensions: ${uris}`,
    { field: "A2A-Extensions", details: { extensions: uris } },
  );
}
