import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Authorize, bearer, serve } from "convoke";
import desk from "./agent.ts";
import { TinyShop } from "./tiny-shop.ts";

const APPROVER = "convoke:approve";
const clerk = process.env["CLERK_TOKEN"] ?? "clerk-token";
const lead = process.env["LEAD_TOKEN"] ?? "lead-token";
const data = process.env["DATA"] ?? join(".convoke", "desk");

// The shop is another company's service. It is here so that the example needs one command.
mkdirSync(data, { recursive: true });
const shop = new TinyShop(join(data, "refunds.json"));
shop.onRequest = (line) => console.log(line);
process.env["SHOP_URL"] ??= await shop.open();

/** Four eyes: clerks send text, which decides nothing, and only team leads decide. */
const fourEyes: Authorize = ({ scopes = [] }, { operation, request }) => {
  if (scopes.includes(APPROVER)) return true;
  const reason = "only a team lead decides on refunds";
  if (operation === "decideApproval") return { allow: false, reason };
  const { message } = request as { readonly message?: { readonly parts: readonly Part[] } };
  return { allow: message?.parts.every(({ kind }) => kind === "text") ?? true, reason };
};

interface Part {
  readonly kind: string;
}

const server = await serve(desk, {
  port: Number(process.env["PORT"] ?? 3000),
  data,
  auth: [bearer(clerk, { owner: "ann" }), bearer(lead, { owner: "lea", scopes: [APPROVER] })],
  roles: { approversActForOthers: true },
  authorize: fourEyes,
});

console.log(`The support desk is at ${server.url}`);

/** Unfinished tasks resume at the next start. */
async function stop(): Promise<void> {
  await server.close();
  shop.close();
  process.exit();
}

process.once("SIGINT", () => void stop());
process.once("SIGTERM", () => void stop());
