import type { Server as HttpServer } from "node:http";
import { type MountAgentOptions, mount } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { onTestFinished } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { type HOSTS, urlOf } from "./hosts.ts";

/** The demo agent inside an app until the test ends. Resolves to its URL. */
export async function embedded(
  host: (typeof HOSTS)[number],
  options: MountAgentOptions = {},
): Promise<string> {
  const logger = createJsonLogger("silent", () => undefined);
  const basePath = host.basePath === undefined ? {} : { basePath: host.basePath };
  const mounted = await mount(demoAgent, { data: "memory", logger, ...basePath, ...options });
  const server = await host.open(mounted);
  onTestFinished(async () => {
    await mounted.close();
    (server as HttpServer).closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return urlOf(server);
}
