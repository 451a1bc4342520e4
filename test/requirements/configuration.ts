import type { RequirementGroup } from "./requirement.ts";

/** The settings and their defaults. */
export const CONFIGURATION: RequirementGroup = {
  title: "Configuration",
  requirements: [
    {
      id: "R125",
      text:
        "The server listens on PORT (3000) and BIND_HOST (127.0.0.1), and the card's URL " +
        "matches them.",
      source: "user document 004",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R126",
      text:
        "The coding agent listens on port 41242 unless CODER_AGENT_PORT is set, and works " +
        "in CODER_AGENT_WORKSPACE_PATH.",
      source: "user document 000 and its later practice",
      milestone: "coder",
      status: "proven",
    },
    {
      id: "R127",
      text:
        "Provider, documentation URL and the four limits on remote invocation and inbound " +
        "sessions come from environment variables; an invalid value falls back to the " +
        "default.",
      source: "later practice of user document 004",
      milestone: "host",
      status: "proven",
    },
  ],
};
