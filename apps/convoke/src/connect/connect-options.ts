import { readFileSync } from "node:fs";
import { type BindingName, type ConnectOptions, type RemoteAgent, connect } from "@convoke/client";
import { createEgress } from "@convoke/egress";
import type { CardPublicKey } from "@convoke/protocol";
import { type CommandContext, UsageError } from "../terminal/command.ts";
import { type CommandAuth, readAuth } from "./auth.ts";
import { listField } from "../terminal/json-fields.ts";
import { didYouMean } from "../terminal/command-line.ts";
import { readUrl } from "./agent-options.ts";
import { oneLine } from "@convoke/protocol/internal";

/** The connect options of the command line. May prompt for a password. */
export async function connectOptions(
  context: CommandContext,
): Promise<ConnectOptions & { readonly auth: CommandAuth | undefined }> {
  const { text, flag, io } = context;
  const version = text("a2a-version");
  if (version !== undefined && version !== "0.3" && version !== "1.0") {
    throw new UsageError(`--a2a-version must be 0.3 or 1.0, not "${version}".`);
  }
  const bindings = text("binding")?.split(",").map(readBinding);
  const extensions = context.texts("extension");
  const allow = readAllow(context.texts("allow"));
  const keyFile = text("trust-key");
  const isDemanded = flag("require-signature") || flag("verify");
  return {
    version,
    bindings,
    ...(extensions.length > 0 && { extensions }),
    ...(allow.length > 0 && { allow }),
    ...(keyFile !== undefined && { trustedKeys: readKeys(keyFile) }),
    ...(isDemanded && { signatures: "require" }),
    ...readCertificate(context),
    auth: await readAuth(context),
    signal: io.signal,
    onNotice: ({ kind, message }) => {
      if (kind === "another-path") io.stderr(`${oneLine(message)}\n`);
    },
  };
}

/** The certificate of --cert, with its key in the same file or in that of --cert-key. */
function readCertificate({ text }: CommandContext): Pick<ConnectOptions, "certificate"> {
  const [cert, key, ca] = (["cert", "cert-key", "ca"] as const).map((option) => text(option));
  if (cert === undefined) {
    if (key === undefined && ca === undefined) return {};
    throw new UsageError("--cert-key and --ca need --cert <file>.");
  }
  return {
    certificate: {
      cert: readPem("--cert", cert),
      key: readPem(key === undefined ? "--cert" : "--cert-key", key ?? cert),
      ...(ca !== undefined && { ca: readPem("--ca", ca) }),
    },
  };
}

function readPem(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${option} ${file} cannot be read (${code}).`);
  }
}

/** The destinations of --allow, validated by the policy that uses them. */
export function readAllow(entries: readonly string[]): readonly string[] {
  try {
    createEgress({ allow: entries });
    return entries;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`--allow: ${error.message.replace(/^egress: /, "")}.`);
  }
}

const BINDINGS = ["jsonrpc", "rest", "grpc"] as const satisfies readonly BindingName[];

function readBinding(name: string): BindingName {
  const binding = BINDINGS.find((known) => known === name.trim());
  if (binding !== undefined) return binding;
  const guess = didYouMean(name, BINDINGS);
  throw new UsageError(`--binding must be jsonrpc, rest or grpc, not "${name}".${guess}`);
}

/** One public key or a key set. Keys need an id, because signatures refer to it. */
function readKeys(file: string): readonly CardPublicKey[] {
  const read = parsed(file);
  const list = listField(read, "keys");
  const keys = (list.length > 0 ? list : [read]) as readonly Partial<CardPublicKey>[];
  for (const key of keys) {
    if (typeof key !== "object" || typeof key?.kid !== "string" || typeof key.kty !== "string") {
      throw new UsageError(`--trust-key ${file} contains no public key (JWK) with kid and kty.`);
    }
    if ("d" in key)
      throw new UsageError(`--trust-key ${file} contains a private key; use the public key.`);
  }
  return keys as readonly CardPublicKey[];
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as unknown;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `--trust-key ${file} ${code === undefined ? "is not JSON" : `cannot be read (${code})`}.`,
    );
  }
}

/**
 * Connects to the agent at the given address while `work` runs. A command that also reads standard
 * input must call `connectOptions` first, because the first line may be a password.
 */
export async function withAgent<T>(
  context: CommandContext,
  work: (agent: RemoteAgent) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  const agent = await connect(readUrl(context), options ?? (await connectOptions(context)));
  try {
    return await work(agent);
  } finally {
    agent.close();
  }
}
