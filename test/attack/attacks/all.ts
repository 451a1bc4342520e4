import type { AttackFamily } from "../attack.ts";
import { AGENTS } from "./agents.ts";
import { APPROVALS } from "./approvals.ts";
import { AUTHENTICATION } from "./authentication.ts";
import { BODIES } from "./bodies.ts";
import { BROWSERS } from "./browsers.ts";
import { FLOODS } from "./floods.ts";
import { HTTP1 } from "./http1.ts";
import { HTTP2 } from "./http2.ts";
import { LEAKS } from "./leaks.ts";
import { OUTBOUND } from "./outbound.ts";
import { OWNERS } from "./owners.ts";
import { SIZES } from "./sizes.ts";
import { TOKENS } from "./tokens.ts";

/** All attacks. Those that use up the limits of the target come last. */
export const ATTACK_FAMILIES: readonly AttackFamily[] = [
  AUTHENTICATION,
  TOKENS,
  OWNERS,
  APPROVALS,
  OUTBOUND,
  BODIES,
  SIZES,
  LEAKS,
  BROWSERS,
  AGENTS,
  HTTP1,
  HTTP2,
  FLOODS,
];
