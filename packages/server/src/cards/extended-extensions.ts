import { type AgentExtension, checkAgentExtensions } from "@convoke/protocol";

/**
 * What an extended card declares: the extensions of the public card and those that it adds, or
 * tells otherwise. It cannot require more: a caller who has read the public card alone would be
 * refused without having had a way to know why.
 */
export function extendedExtensions(
  open: readonly AgentExtension[] = [],
  added: readonly AgentExtension[] = [],
): readonly AgentExtension[] {
  checkAgentExtensions(added);
  const required = new Set(open.filter((one) => one.required === true).map(({ uri }) => uri));
  const wanting = added.find((one) => one.required === true && !required.has(one.uri));
  if (wanting !== undefined) {
    throw new TypeError(
      `the extended card must not require ${wanting.uri}, which the agent itself does not require`,
    );
  }
  const named = new Set(added.map(({ uri }) => uri));
  return [...open.filter(({ uri }) => !named.has(uri)), ...added];
}
