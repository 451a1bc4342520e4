import type { SeededFault } from "./fault.ts";
import {
  CARD_FAULTS,
  CONTENT_FAULTS,
  EARLY_HOOK_FAULTS,
  EARLY_REST_FAULTS,
  GUARD_FAULTS,
  HOOK_FAULTS,
  PLAIN_FAULTS,
  REST_FAULTS,
} from "./server-faults.ts";
import type { SpoiledServer } from "./spoiling-proxy.ts";
import { EARLY_FAULTS, STREAM_FAULTS } from "./stream-faults.ts";
import { JSONRPC_FAULTS } from "./task-faults.ts";

interface FaultGroup {
  readonly where: string;
  /** Options of the check. */
  readonly options: readonly string[];
  readonly server?: SpoiledServer;
  readonly faults: readonly SeededFault[];
}

const JSONRPC_V1 = ["--binding", "jsonrpc", "--a2a-version", "1.0"];
const JSONRPC_V03 = ["--binding", "jsonrpc", "--a2a-version", "0.3"];

export const SEEDED_FAULTS: readonly FaultGroup[] = [
  { where: "JSON-RPC 1.0", options: JSONRPC_V1, faults: [...JSONRPC_FAULTS, ...STREAM_FAULTS] },
  { where: "JSON-RPC 0.3", options: JSONRPC_V03, faults: EARLY_FAULTS },
  {
    where: "REST 1.0",
    options: ["--binding", "rest", "--a2a-version", "1.0"],
    faults: REST_FAULTS,
  },
  {
    where: "REST 0.3",
    options: ["--binding", "rest", "--a2a-version", "0.3"],
    faults: EARLY_REST_FAULTS,
  },
  { where: "the card", options: JSONRPC_V1, faults: CARD_FAULTS },
  {
    where: "a server with a token",
    options: [...JSONRPC_V1, "--token", "a-secret"],
    server: { token: "a-secret" },
    faults: GUARD_FAULTS,
  },
  {
    where: "a server without streams and push notifications",
    options: JSONRPC_V1,
    server: { streaming: false, push: false },
    faults: PLAIN_FAULTS,
  },
  {
    where: "webhooks of 1.0",
    options: JSONRPC_V1,
    server: { push: { allow: ["127.0.0.1"] } },
    faults: HOOK_FAULTS,
  },
  {
    where: "webhooks of 0.3",
    options: JSONRPC_V03,
    server: { push: { allow: ["127.0.0.1"] } },
    faults: EARLY_HOOK_FAULTS,
  },
  {
    where: "an agent that accepts everything",
    options: JSONRPC_V1,
    server: { acceptsEverything: true },
    faults: CONTENT_FAULTS,
  },
];
