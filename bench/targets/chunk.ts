/** What every target streams: chunks of about 40 bytes. */
export function chunkText(place: number): string {
  return `chunk ${String(place).padStart(6, "0")} of the streamed answer; `;
}
