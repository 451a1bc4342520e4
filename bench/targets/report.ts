/** Tells the measuring process where this target listens, and answers its questions. */
export function report(url: string): void {
  process.on("message", () => process.send?.(process.cpuUsage()));
  process.send?.({ url });
}
