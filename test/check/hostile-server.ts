import { type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { listenOn } from "./peer-server.ts";

/** The response at every path except that of the card. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** A server with a valid card that misbehaves otherwise. */
export async function serveHostile(
  behaviour: Behaviour,
  bindings: readonly string[] = ["JSONRPC", "HTTP+JSON"],
): Promise<string> {
  let origin = "";
  const listener: RequestListener = (request, response) => {
    if (request.url !== "/.well-known/agent-card.json") return behaviour(request, response);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(cardAt(origin, bindings)));
  };
  const { url, close } = await listenOn(listener);
  origin = url;
  onTestFinished(close);
  return url;
}

export function cardAt(url: string, bindings: readonly string[]): object {
  return {
    name: "Hostile",
    description: "Has bad manners.",
    version: "1",
    supportedInterfaces: bindings.map((protocolBinding) => ({
      url: protocolBinding === "GRPC" ? new URL(url).host : url,
      protocolBinding,
      protocolVersion: "1.0",
    })),
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "a", name: "a", description: "a", tags: [] }],
  };
}
