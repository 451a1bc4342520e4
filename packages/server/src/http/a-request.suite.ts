import type { HttpRequest } from "./exchange.ts";

/** An ordinary request for the card; a test overrides only what matters to it. */
export function aRequest(overrides: Partial<HttpRequest> = {}): HttpRequest {
  return {
    id: "r-1",
    method: "GET",
    path: "/.well-known/agent-card.json",
    basePath: "",
    query: new URLSearchParams(),
    headers: { host: "localhost:3000" },
    isHttp2: false,
    isSecure: false,
    body: () => Promise.resolve(new Uint8Array()),
    ...overrides,
  };
}
