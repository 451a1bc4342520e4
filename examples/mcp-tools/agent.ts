import { type Agent, type ConfirmRule, type ModelSpec, defineAgent } from "convoke";
import { fileURLToPath } from "node:url";
import { clerkStandIn } from "./stand-in.ts";

const NOTES = fileURLToPath(new URL("notes", import.meta.url));
const FILES = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
);

const beforeClosing: ConfirmRule = ({ input }) => {
  const { number } = input as { readonly number: number };
  return { title: `Close issue #${number}`, risk: "warning" };
};

/** Closes issues that a release has fixed. All of its tools come from two MCP servers. */
export function releaseClerk(model: ModelSpec, trackerUrl: string): Agent {
  return defineAgent({
    id: "release-clerk",
    name: "Release clerk",
    description: "Closes the issues that a release has fixed.",
    model,
    instructions: "Read the notes of the release. Close the open issues that they name as fixed.",
    mcpServers: {
      // A program on this machine, over its standard input and output.
      files: {
        command: process.execPath,
        args: [FILES, NOTES],
        // The server can also write and move. What is not listed does not exist for the model.
        allow: ["list_directory", "read_text_file"],
        confirm: "never",
      },
      // A service of somebody else, over HTTP.
      tracker: {
        url: trackerUrl,
        // A function: the token is read for each request, so it can be rotated.
        auth: () => process.env["TRACKER_TOKEN"],
        // By name, because the hints of a server are its own words about itself.
        confirm: { list_issues: "never", close_issue: beforeClosing },
      },
    },
    budget: { iterations: 10, toolCalls: 20 },
  });
}

export default releaseClerk(
  process.env["MODEL"] ?? clerkStandIn,
  process.env["TRACKER_URL"] ?? "http://127.0.0.1:4200/mcp",
);
