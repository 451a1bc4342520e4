import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { start } from "../../harness/program.ts";
import { temporaryFolder } from "../../start/temporary-folder.ts";
import { installGemini } from "./install-gemini.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** The configuration that a user writes for a remote agent. */
interface RemoteAgentDefinition {
  readonly name: string;
  readonly agent_card_url: string;
  /** A `$NAME` in the token is read from the environment. */
  readonly auth?: { readonly type: "http"; readonly scheme: "Bearer"; readonly token: string };
}

interface GeminiOptions {
  readonly model: ScriptedModel;
  readonly agent: RemoteAgentDefinition;
  readonly env?: Readonly<Record<string, string>>;
}

/** There is no one to trust a folder or to sign in, and telemetry is off. */
const SETTINGS = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  experimental: { enableAgents: true },
};

/**
 * Runs the real Gemini CLI once, headless, as a new user with one remote agent. Resolves to its
 * final output.
 */
export async function runGemini({ model, agent, env }: GeminiOptions): Promise<string> {
  const home = await geminiHome();
  await mkdir(join(home, ".gemini", "agents"), { recursive: true });
  // The front matter is YAML, and JSON is YAML.
  const definition = JSON.stringify({ kind: "remote", ...agent });
  await writeFile(join(home, ".gemini", "agents", "remote.md"), `---\n${definition}\n---\n`);

  // Calling a remote agent needs an approval each time; "yolo" gives it.
  const options = ["--model", "gemini-2.5-flash", "--yolo", "--output-format", "json"];
  const args = [await installGemini(), ...options, "--prompt", "Ask the agent."];
  const { code, stdout, stderr } = await start(process.execPath, args, {
    cwd: temporaryFolder(),
    env: { ...withoutSettings(), ...geminiEnvironment(home, model.url), ...env },
  }).ended;
  if (code !== 0) throw new Error(`The Gemini CLI ended with ${code}:\n${stdout}\n${stderr}`);
  return (JSON.parse(stdout) as { readonly response: string }).response;
}

/** The home of a new user of the CLI. */
export async function geminiHome(): Promise<string> {
  const home = temporaryFolder();
  await mkdir(join(home, ".gemini"), { recursive: true });
  await writeFile(join(home, ".gemini", "settings.json"), JSON.stringify(SETTINGS));
  return home;
}

/** What the CLI needs to use the scripted model. */
export function geminiEnvironment(home: string, modelUrl: string): Record<string, string> {
  return {
    HOME: home,
    USERPROFILE: home,
    GEMINI_API_KEY: "none",
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    // One process, which ends with the test.
    GEMINI_CLI_NO_RELAUNCH: "true",
  };
}

/** The CLI or proxy settings of the person who runs the tests must not change what is tested. */
function withoutSettings(): Record<string, string> {
  const names = Object.keys(process.env).filter((name) => /^(GEMINI|GOOGLE)_|_PROXY$/i.test(name));
  return Object.fromEntries(names.map((name) => [name, ""]));
}
