import type { FaultSpeaking } from "../fault-scenario.ts";

export const V1_RPC: FaultSpeaking = { version: "1.0", binding: "JSONRPC" };
export const V03_RPC: FaultSpeaking = { version: "0.3", binding: "JSONRPC" };
export const V1_REST: FaultSpeaking = { version: "1.0", binding: "HTTP+JSON" };
export const V03_REST: FaultSpeaking = { version: "0.3", binding: "HTTP+JSON" };

export const RPC: readonly FaultSpeaking[] = [V1_RPC, V03_RPC];
const REST: readonly FaultSpeaking[] = [V1_REST, V03_REST];
export const HTTP: readonly FaultSpeaking[] = [...RPC, ...REST];
export const GRPC: readonly FaultSpeaking[] = [
  { version: "1.0", binding: "GRPC" },
  { version: "0.3", binding: "GRPC" },
];
