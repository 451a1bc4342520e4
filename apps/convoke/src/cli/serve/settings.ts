import { randomBytes } from "node:crypto";
import type { CardOptions, CorsOptions } from "@convoke/server";
import type { Limits, LogLevel, PushOptions, RetentionOptions } from "@convoke/engine";
import { readCard } from "./card-setting.ts";
import { commaList } from "./comma-list.ts";
import { readCors } from "./cors-setting.ts";
import { readLimits } from "./limits-setting.ts";
import { readPush } from "./push-setting.ts";
import { readRetention } from "./retention-setting.ts";
import { StartError } from "./start-error.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How `convoke serve` is told to serve: flags first, then the environment, then what is good on a laptop. */
export interface ServeSettings {
  readonly port: number;
  readonly host: string;
  readonly data: string;
  readonly logLevel: LogLevel;
  /** How long work under way may take to finish after a signal, in milliseconds. */
  readonly drainMs: number;
  readonly allowedHosts: readonly string[];
  readonly cors: CorsOptions;
  readonly limits: Partial<Limits>;
  readonly push: PushOptions;
  readonly retention: Partial<RetentionOptions>;
  readonly card: CardOptions;
  readonly trustProxy: boolean;
  readonly token?: string;
  readonly publicUrl?: string;
}

export interface ServeFlags {
  readonly port?: string | undefined;
  readonly data?: string | undefined;
}

export function readSettings(flags: ServeFlags, env: Environment): ServeSettings {
  const token = env["CONVOKE_TOKEN"] || undefined;
  const publicUrl = readUrl(env["PUBLIC_URL"] || undefined);
  const host = env["BIND_HOST"] || "127.0.0.1";
  const settings = {
    port:
      flags.port === undefined
        ? readPort("PORT", env["PORT"] || "3000")
        : readPort("--port", flags.port),
    host,
    data: flags.data ?? (env["CONVOKE_DATA"] || ".convoke"),
    drainMs: readDuration(env["CONVOKE_DRAIN_MS"] || "10000"),
    logLevel: readLevel(env["CONVOKE_LOG"] || "warn"),
    allowedHosts: commaList(env["CONVOKE_ALLOWED_HOSTS"]),
    cors: readCors(env["CONVOKE_CORS_ORIGINS"]),
    limits: readLimits(env["CONVOKE_LIMITS"]),
    push: readPush(env),
    retention: readRetention(env),
    card: readCard(env),
    trustProxy: readSwitch("CONVOKE_TRUST_PROXY", env["CONVOKE_TRUST_PROXY"]),
    ...(token !== undefined && { token }),
    ...(publicUrl !== undefined && { publicUrl }),
  };
  if (token === undefined && !isLoopback(host)) throw openToTheWorld(host);
  return settings;
}

function readSwitch(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "" || value === "0") return false;
  if (value === "1") return true;
  throw new StartError(`${name} must be 1 or 0, not ${JSON.stringify(value)}.`);
}

function readPort(name: string, value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  throw new StartError(`${name} must be a number from 0 to 65535, not ${JSON.stringify(value)}.`);
}

function readDuration(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new StartError(
    `CONVOKE_DRAIN_MS must be a number of milliseconds, not ${JSON.stringify(value)}.`,
  );
}

function readUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return new URL(value).href;
  throw new StartError(
    `PUBLIC_URL must be an http or https address, not ${JSON.stringify(value)}.`,
  );
}

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const satisfies readonly LogLevel[];

function readLevel(value: string): LogLevel {
  const level = LEVELS.find((name) => name === value);
  if (level !== undefined) return level;
  throw new StartError(
    `CONVOKE_LOG must be one of ${LEVELS.join(", ")}, not ${JSON.stringify(value)}.`,
  );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** A server that others can reach knows who they are. The line can be copied as it is. */
function openToTheWorld(host: string): StartError {
  const token = randomBytes(24).toString("base64url");
  return new StartError(
    `Others could reach this server on ${host}, so it needs a token. Try: CONVOKE_TOKEN=${token} BIND_HOST=${host} npm start`,
  );
}
