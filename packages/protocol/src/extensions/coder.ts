/**
 * The URIs that activate the dialects of a coding agent. Each is one format for the same events; our
 * own extension, `EXTENSIONS.coder`, has all of them.
 */
export const CODER_DIALECTS = {
  /** Kinds in `metadata.coderAgent`, as clients of Gemini's coding agent read them. */
  coderAgent: "https://convoke.dev/extensions/coder-agent/v1",
  /** The development-tool extension that Gemini proposes. */
  developmentTool:
    "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md",
  /** One JSON object per event, as the routes `/tasks` and `/message/stream` of a coding agent use it. */
  events: "https://convoke.dev/extensions/coder-events/v1",
} as const;
