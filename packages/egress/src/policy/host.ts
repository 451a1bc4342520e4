/** The host in the form in which names and addresses are compared: without brackets and without a trailing dot. */
export function canonicalHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/** The port of the URL, or the default port of its scheme. */
export function effectivePort(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}
