/** The address of an interface over HTTP, which may be relative to that of its card; undefined when it is none. */
export function webUrl(text: string, cardUrl: string | undefined): string | undefined {
  if (!URL.canParse(text, cardUrl)) return undefined;
  const url = new URL(text, cardUrl);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // A name or password in it would be sent; whoever wrote the card knows no secret of ours.
  return isWeb && url.username === "" && url.password === "" ? url.href : undefined;
}

/** `host:port`, as 1.0 has it; an address of IPv6 is in brackets. */
const HOST_AND_PORT = /^(?:\[[0-9a-f:.]+\]|[^\s/:@?#]+)(?::\d{1,5})?$/i;

/**
 * The address of a gRPC interface as a URL: `host:port` or a URL already. Without
 * a scheme it is TLS (1.0 §10), unless the card itself came over http and the
 * host is the card's own, or this machine: what has no certificate there has none here.
 */
export function grpcUrl(text: string, cardUrl: string | undefined): string | undefined {
  const url = text.replace(/^grpcs:/i, "https:").replace(/^grpc:/i, "http:");
  if (!HOST_AND_PORT.test(url)) return webUrl(url, cardUrl);
  const secure = webUrl(`https://${url}`, undefined);
  if (secure === undefined || cardUrl === undefined) return secure;
  const card = new URL(cardUrl);
  const { hostname } = new URL(secure);
  const isOpen = card.protocol === "http:" && (hostname === card.hostname || isLoopback(hostname));
  return isOpen ? webUrl(`http://${url}`, undefined) : secure;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
