/** Whether the URL leads to this machine by its very name. The parser brings every spelling to one. */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/\.$/, "");
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}
