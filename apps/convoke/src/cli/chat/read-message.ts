import type { LineSource } from "./line-source.ts";

/** Reads one message. A line that ends with a backslash goes on in the next one; two are one that is meant. */
export async function readMessage(lines: LineSource, prompt: string): Promise<string | undefined> {
  const said: string[] = [];
  for (;;) {
    const line = await lines.next(said.length === 0 ? prompt : "… ");
    if (line === undefined) return said.length === 0 ? undefined : said.join("\n");
    if (!line.endsWith("\\")) return [...said, line].join("\n");
    said.push(line.slice(0, -1));
    if (line.endsWith("\\\\")) return said.join("\n");
  }
}
