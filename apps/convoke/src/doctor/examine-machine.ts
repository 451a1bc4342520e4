import { accessSync, constants, existsSync, statSync, statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { ModelError } from "@convoke/runtime";
import { CredentialsFile, credentialsPath } from "../credentials/credentials-file.ts";
import { type ConvokeConfig, StartError, loadConfig } from "../host/config.ts";
import { loadAgent } from "../host/load-agent.ts";
import { serve } from "../host/serve-agent.ts";
import { type ServeSettings, loadEnvFile, readSettings } from "../host/settings.ts";
import { UsageError } from "../terminal/command.ts";
import { type DiagnosisId, Findings, type OnStep } from "./diagnoses.ts";
import { portProblem } from "./port.ts";
import { describeError } from "./requests.ts";

export interface MachineOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file with the agent, if there is one. */
  readonly file?: string | undefined;
  /** What the clock shows. Default: the time of this machine. */
  readonly now?: Date;
  readonly onStep?: OnStep;
}

/** Looks at what `convoke serve` and `convoke login` need on this machine and in the current folder. */
export async function examineMachine(options: MachineOptions): Promise<Findings> {
  const { env, file, now = new Date(), onStep } = options;
  const findings = new Findings(onStep);
  // The command does not start with an older version than it needs.
  findings.pass(`Node ${process.versions.node}`);
  checkClock(findings, now);
  checkCredentials(findings, env);
  const settings = await checkProject(findings, env);
  if (settings === undefined) {
    findings.skip("Data folder and port: the settings could not be read");
    return findings;
  }
  checkDataFolder(findings, settings.data ?? ".convoke");
  await checkPort(findings, settings);
  if (file === undefined) findings.skip("The agent and its model (convoke doctor <file>)");
  else await checkAgent(findings, file);
  return findings;
}

/** No correct clock shows a time before this program was written. */
const WRITTEN_AT = Date.parse("2026-11-01T00:00:00Z");

function checkClock(findings: Findings, now: Date): void {
  if (now.getTime() >= WRITTEN_AT) findings.pass("The clock shows a plausible time");
  else findings.diagnose("clock-wrong", "clock", `it shows ${now.toISOString()}`);
}

function checkCredentials(findings: Findings, env: MachineOptions["env"]): void {
  const path = credentialsPath(env);
  if (path === undefined) return;
  try {
    const count = new CredentialsFile(path).origins().length;
    findings.pass(`Stored credentials: ${count} (${path})`);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    findings.diagnose("credentials-exposed", path, error.message);
  }
}

/** The settings that `convoke serve` would start with. */
async function checkProject(
  findings: Findings,
  env: MachineOptions["env"],
): Promise<ServeSettings | undefined> {
  let config: ConvokeConfig = {};
  findings.step("reading the settings");
  let step: DiagnosisId = "env-file-unreadable";
  try {
    loadEnvFile();
    step = "config-broken";
    config = await loadConfig(undefined);
    step = "settings-invalid";
    const settings = readSettings({}, env, config);
    findings.pass("The settings and convoke.config.ts can be used");
    return settings;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    findings.diagnose(step, process.cwd(), error.message);
    return undefined;
  }
}

/** File systems in memory, by the number that Linux gives them. */
const IN_MEMORY = new Set([0x0102_1994, 0x8584_58f6]);

/** NFS, SMB and CIFS. */
const ON_NETWORK = new Set([0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42]);

function checkDataFolder(findings: Findings, data: string): void {
  if (data === "memory") {
    findings.pass("Tasks are kept in memory, as CONVOKE_DATA says");
    return;
  }
  const folder = resolve(data);
  const existing = nearestExisting(folder);
  try {
    if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a folder`);
    accessSync(existing, constants.W_OK);
  } catch (error) {
    findings.diagnose("data-folder-not-writable", folder, describeError(error));
    return;
  }
  const { type } = statfsSync(existing);
  const seen = `its file system has the type 0x${type.toString(16)}`;
  if (ON_NETWORK.has(type)) findings.diagnose("data-folder-on-network", folder, seen);
  else if (IN_MEMORY.has(type)) findings.diagnose("data-folder-in-memory", folder, seen);
  else findings.pass(`The data folder can be written: ${folder}`);
}

/** The folder itself, or the one in which it will be created. */
function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(dirname(folder));
}

async function checkPort(findings: Findings, { port, host }: ServeSettings): Promise<void> {
  const problem = await portProblem(port, host);
  if (problem === undefined) findings.pass(`Port ${port} is free`);
  else
    findings.diagnose(
      "port-unavailable",
      `${host}:${port}`,
      `it cannot be listened on (${problem})`,
    );
}

/** Loads the agent and starts it for a moment, without a public port and without its data. */
async function checkAgent(findings: Findings, file: string): Promise<void> {
  findings.step(`starting ${file}`);
  const logger = createJsonLogger("silent", () => undefined);
  try {
    const agent = await loadAgent(file);
    const server = await serve(agent, { port: 0, data: "memory", logger });
    await server.close();
    findings.pass(`${file} can be served, and its model has what it needs`);
  } catch (error) {
    if (error instanceof ModelError) findings.diagnose("model-unusable", file, error.message);
    else findings.diagnose("agent-broken", file, describeError(error));
  }
}
