/** Whether an address to listen on is reachable from this machine only. */
export function isLoopbackAddress(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
