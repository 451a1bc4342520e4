import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

export const MAIL = z.object({ to: z.email(), subject: z.string(), text: z.string() });
export type Mail = z.infer<typeof MAIL>;

/** Puts a mail into the outbox. Mails with the same key are one mail. */
export async function deliver(mail: Mail, key: string): Promise<void> {
  const outbox = process.env["OUTBOX"] ?? "outbox";
  const name = createHash("sha256").update(key).digest("hex").slice(0, 16);
  await mkdir(outbox, { recursive: true });
  await writeFile(join(outbox, `${name}.json`), JSON.stringify(mail, undefined, 2));
}

/** Whether an address belongs to the company. */
export function isColleague(address: string): boolean {
  return address.endsWith("@shop.example");
}
