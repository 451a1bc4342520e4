import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { createEgress, createEgressFetch } from "@convoke/egress";
import type { ChildRecords } from "./child-records.ts";
import { ChildTransport } from "./child-transport.ts";
import type { McpFetch } from "./mcp-config.ts";
import type { McpError } from "./mcp-error.ts";
import type { McpServerSettings, McpSettings } from "./mcp-settings.ts";
import { serverFetch } from "./server-fetch.ts";

export interface TransportOptions {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly records: ChildRecords | undefined;
}

/**
 * A cut stream is taken up again as long as the server can be reached; when it
 * cannot, the session is over, and a new one is begun.
 */
const STREAM_RETRIES = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 1000,
};

/** The way to a server. `onLost` hears that an HTTP server is gone; a process says so by its end. */
export function createTransport(
  { server, settings, records }: TransportOptions,
  onLost: (error: McpError) => void,
): Transport {
  const { maxMessageBytes, logger, fetch } = settings;
  const { target, name } = server;
  if (target.kind === "command") {
    const print = (line: string): void =>
      logger.debug("an MCP server says", { server: name, line });
    return new ChildTransport(target, { records, maxMessageBytes, print });
  }
  return new StreamableHTTPClientTransport(target.url, {
    fetch: serverFetch(target, { fetch: fetch ?? wayTo(target.url), maxMessageBytes, onLost }),
    reconnectionOptions: STREAM_RETRIES,
  });
}

/** The operator named this address; whatever else the server names must be public. */
function wayTo(url: URL): McpFetch {
  return createEgressFetch(createEgress({ trusted: [url.href] }));
}
