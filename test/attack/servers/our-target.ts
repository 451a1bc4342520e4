import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_RATE_LIMITS, createApiKey } from "@convoke/server";
import { connect } from "@convoke/client";
import { runCli } from "../../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import type { AttackFamily } from "../attack.ts";
import type { StartedTarget } from "../run-attack.ts";
import type { Target } from "../target.ts";
import { TokenIssuer } from "../token-issuer.ts";
import { openReceiver } from "../wire/trap.ts";
import type { OurServerOptions } from "./our-server.ts";
import { TargetProcess } from "./target-process.ts";

/** How long our server lets a slow client wait. */
export interface OurOptions extends Pick<Target, "slowMs"> {
  /** Default: those of the server. */
  readonly timeouts?: OurServerOptions["timeouts"];
}

/**
 * Our server, with everything that an attack can need. Its limits are those of a server on a public
 * address; only failed logins are not limited, because all attackers have the same address here. The
 * family that exhausts limits gets a server with all of them.
 */
export async function startOurs(
  { isExhausting }: Pick<AttackFamily, "isExhausting">,
  { timeouts = {}, ...facts }: OurOptions = {},
): Promise<StartedTarget> {
  const { login, write } = DEFAULT_RATE_LIMITS;
  const rateLimits = { logins: login.limit, writes: write.limit };
  const issuer = new TokenIssuer();
  const receiver = await openReceiver();
  const data = await mkdtemp(join(tmpdir(), "convoke-attack-"));
  const past = new Date(Date.now() - 1000);
  const keys = {
    revoked: createApiKey({ name: "revoked" }),
    rotated: createApiKey({ name: "rotated", expiresAt: past }),
    successor: createApiKey({ name: "rotated" }),
    expired: createApiKey({ name: "expired", expiresAt: past }),
    tenant: createApiKey({ name: "north", tenant: "north" }),
  };
  const records = Object.values(keys).map(({ record }) =>
    record.name === "revoked" ? { ...record, revokedAt: past.toISOString() } : record,
  );
  const process = await TargetProcess.start(new URL("./our-server.ts", import.meta.url), {
    data,
    keySet: issuer.keySet,
    apiKeys: records,
    receiver: new URL(receiver.url).host,
    timeouts,
    rateLimits:
      isExhausting === true ? DEFAULT_RATE_LIMITS : { ...DEFAULT_RATE_LIMITS, login: false },
  });
  const withKey = (key: keyof typeof keys) => ({ "x-api-key": keys[key].key });
  const target: Target = {
    ...(await process.target()),
    ...facts,
    rateLimits,
    callers: {
      ann: { authorization: `Bearer ${issuer.token()}` },
      bob: { authorization: `Bearer ${issuer.token({ claims: { sub: "bob" } })}` },
    },
    retired: {
      revoked: withKey("revoked"),
      rotated: withKey("rotated"),
      expired: withKey("expired"),
    },
    tenant: withKey("tenant"),
    issuer,
    receiver,
    ownRoutes: [
      { method: "GET", path: "/convoke/tasks" },
      { method: "GET", path: "/convoke/tasks/x" },
      { method: "GET", path: "/convoke/tasks/x?at=1" },
      { method: "GET", path: "/convoke/tasks/x/log" },
      { method: "POST", path: "/convoke/tasks:delete" },
      { method: "POST", path: "/convoke/erasures" },
      { method: "GET", path: "/convoke/feed" },
      { method: "GET", path: "/convoke/approvals" },
      { method: "POST", path: "/convoke/approvals/x:answer" },
      { method: "GET", path: "/convoke/pushes" },
      { method: "POST", path: "/convoke/pushes:replay" },
      { method: "GET", path: "/metrics" },
      { method: "GET", path: "/extendedAgentCard" },
      { method: "GET", path: "/v1/card" },
      { method: "GET", path: "/nowhere" },
      { method: "POST", path: "/api/a2a" },
    ],
    behaviors: { ask: "ask", large: "large", approval: "approval", secret: "secret" },
    stored: () => bytesIn(data),
    callAgent,
    printCard: async (url) => {
      const { stdout, stderr } = await runCli(["card", url], { isTerminal: true });
      return stdout + stderr;
    },
  };
  return {
    target,
    [Symbol.asyncDispose]: async () => {
      await process.stop();
      receiver.close();
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** Calls an agent with our client, as documented; whether it succeeds does not matter. */
async function callAgent(url: string, token: string): Promise<void> {
  const options = { token, allow: ["127.0.0.1"], retry: false } as const;
  const agent = await connect(url, options).catch(() => undefined);
  await agent?.send("hello").catch(() => undefined);
  agent?.close();
}

/** The bytes of all files in a folder. */
async function bytesIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")),
  );
  return texts.join("\n");
}
