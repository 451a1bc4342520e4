import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import { Failed, Skipped } from "../verdict.ts";

/** Names and addresses of machines that nobody reaches from outside. */
const LOCAL =
  /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]|.*\.(local|internal)$)/;

/** Encryption on the way. */
export const TRANSPORT_SECURITY: readonly Probe[] = [
  {
    name: "tls",
    says: "In production there is TLS.",
    claims: [must("v1-S62", "§7.1"), must("v03-S1", "§4.1")],
    async run({ stage }) {
      const { protocol, hostname } = new URL(stage.target.url);
      if (protocol === "https:") return;
      if (LOCAL.test(hostname)) throw new Skipped("a local address is no production");
      throw new Failed("an https address", { sent: "nothing", received: stage.target.url });
    },
  },
];
