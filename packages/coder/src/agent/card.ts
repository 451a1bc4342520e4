import { EXTENSIONS } from "@convoke/protocol";
import { CODE_GENERATION } from "../dialects/with-dialects.ts";
import type { CoderSettings } from "./coder-options.ts";

/** What the card of a coding agent says. */
export function cardOf({ id, name, description }: CoderSettings) {
  const { uri, description: what } = EXTENSIONS.approvals;
  return {
    ...(id !== undefined && { id }),
    name,
    description,
    // Its workspaces are on the disk of one machine.
    local: true,
    skills: [CODE_GENERATION],
    inputModes: ["text/plain", "application/json", "image/*", "application/pdf"],
    extensions: [{ uri, description: what, required: false }],
  };
}
