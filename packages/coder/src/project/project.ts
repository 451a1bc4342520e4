import type { EgressOptions } from "@convoke/egress";
import { A2AError, type OpenValues } from "@convoke/protocol";
import type { ConfirmRule, Tool } from "@convoke/runtime";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { sha256 } from "../storage/blobs.ts";
import { Checkpoints } from "../checkpoints/checkpoints.ts";
import { mcpPreview } from "../events/call-details.ts";
import { Policy } from "../policy/policy.ts";
import type { CompletePolicy } from "../policy/policy-definition.ts";
import { type Mode, stricterMode } from "../policy/verdict.ts";
import { policyFor } from "../policy/workspace-policy.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { type SessionKey, sessionKey } from "../storage/session-key.ts";
import { FileTexts, SharedTexts, type Texts } from "../storage/texts.ts";
import { openSandbox } from "../shell/sandbox.ts";
import { type ShellTools, createShellTools } from "../shell/shell-tools.ts";
import { askUser } from "../tools/ask-user.ts";
import { fetchUrl } from "../tools/fetch-url.ts";
import type { FileAction } from "../tools/file-action.ts";
import { createFileTools } from "../tools/file-tools.ts";
import { updatePlan } from "../tools/update-plan.ts";
import { Workspace } from "../workspace/workspace.ts";
import { StoredGrants } from "./stored-grants.ts";

/** The longest arguments in the text of an approval, in characters. */
const MAX_PROMPT = 4000;

export interface ProjectOptions {
  readonly root: string;
  readonly allowedRoots: readonly string[];
  /** The policy of the server. */
  readonly policy: CompletePolicy;
  readonly sessions: Sessions;
  /** Where the agent keeps its files; outside the workspace. */
  readonly folder: string;
  /** The database that the processes of the agent share. Default: grants are in the folder, too. */
  readonly values?: OpenValues;
  readonly fetch: { readonly allow?: EgressOptions["allow"] } | false;
  /** Variables of the server that commands get. */
  readonly passEnvironment?: readonly string[];
  readonly logger?: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

/** One workspace with everything that works on it. Its policy decides on every call. */
export class Project {
  readonly workspace: Workspace;
  readonly checkpoints: Checkpoints;
  /** What its callers have approved for always. */
  readonly grants: StoredGrants;
  /** The policy of the server and of the workspace. */
  readonly rights: CompletePolicy;
  readonly hasSandbox: boolean;
  /** Where its own files are. */
  readonly folder: string;
  readonly #options: ProjectOptions;
  readonly #policy: Policy;
  readonly #shell: ShellTools;
  readonly tools: readonly Tool[];

  private constructor(options: ProjectOptions, parts: ProjectParts) {
    this.#options = options;
    this.workspace = parts.workspace;
    this.checkpoints = parts.checkpoints;
    this.rights = parts.rights;
    this.hasSandbox = parts.sandbox !== undefined;
    this.folder = parts.folder;
    this.grants = new StoredGrants(grantTexts(parts.folder, options));
    const { workspace, checkpoints, folder, sandbox, rights } = parts;
    const { passEnvironment, logger, fetch } = options;
    this.#policy = new Policy(rights, workspace.roots);
    this.#shell = createShellTools({
      policy: this.#policy,
      mode: (session) => this.modeOf(session),
      roots: workspace.roots,
      sandbox,
      folder,
      beforeChange: async ({ caller, contextId, taskId, signal }) => {
        const session = sessionKey(caller, contextId);
        await checkpoints.snapshot({ label: "run_shell", session, taskId }, signal);
      },
      ...(passEnvironment && { passEnvironment }),
      ...(logger && { logger }),
    });
    const policy = (action: FileAction) => this.#decideFile(action);
    this.tools = [
      ...createFileTools({ workspace, checkpoints, folder, policy }),
      ...this.#shell.tools,
      ...(fetch === false ? [] : [fetchUrl({ ...fetch, confirm: this.rule("fetch") })]),
      updatePlan(),
      askUser(),
    ];
  }

  static async open(options: ProjectOptions): Promise<Project> {
    const { root, allowedRoots, policy } = options;
    const workspace = await Workspace.open({ roots: [root], allowedRoots });
    const folder = join(options.folder, sha256(Buffer.from(workspace.root)).slice(0, 16));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const rights = await policyFor(policy, workspace.root);
    const [checkpoints, sandbox] = await Promise.all([
      Checkpoints.open({ workspace, folder }),
      openSandbox({
        roots: workspace.roots,
        network: rights.network,
        hidden: [options.folder],
      }),
    ]);
    return new Project(options, { workspace, checkpoints, rights, sandbox, folder });
  }

  /** Whether the operator trusts what is in the workspace. */
  get isTrusted(): boolean {
    return this.rights.workspacePolicy === "trust";
  }

  /** The mode of a conversation. A mode that the policy no longer allows does not count. */
  modeOf(session: SessionKey): Mode {
    const { mode, maxMode } = this.rights;
    const chosen = this.#options.sessions.known(session)?.mode ?? mode;
    return stricterMode(chosen, maxMode) === chosen ? chosen : mode;
  }

  /** The rule of a tool that is neither a file tool nor a command; of an MCP server, if named. */
  rule(kind: "fetch" | "other", serverName?: string): ConfirmRule {
    return ({ toolName, input, caller, turn }) => {
      const mode = this.modeOf(sessionKey(caller, turn.task.contextId));
      const { verdict, reasons } = this.#policy.decide({ tool: toolName, kind }, mode);
      if (verdict !== "ask") return verdict;
      const [, ownName = toolName] = /^.*?__(.+)$/.exec(toolName) ?? [];
      return {
        prompt: `${JSON.stringify(input, undefined, 2).slice(0, MAX_PROMPT)}\n${reasons.join("; ")}`,
        risk: "warning",
        ...(serverName !== undefined && {
          preview: [mcpPreview({ serverName, toolName: ownName })],
        }),
      };
    };
  }

  /** Throws if a command of the caller may not change a path, in whatever mode. */
  checkChange(tool: string, path: string): void {
    const action = { tool, kind: "edit", paths: [path] } as const;
    if (this.#policy.decide(action, this.rights.maxMode).verdict !== "deny") return;
    throw new A2AError("InvalidParams", "the policy of this server does not allow it");
  }

  #decideFile({ tool, kind, paths, caller, contextId }: FileAction) {
    const mode = this.modeOf(sessionKey(caller, contextId));
    return this.#policy.decide({ tool, kind, paths }, mode).verdict;
  }

  close(): Promise<void> {
    return this.#shell.close();
  }
}

/** The folder of a workspace is named by a hash of its path. */
function grantTexts(folder: string, { values }: ProjectOptions): Texts {
  return values === undefined
    ? new FileTexts(join(folder, "grants"))
    : new SharedTexts(values(`grants/${basename(folder)}`));
}

interface ProjectParts {
  readonly workspace: Workspace;
  readonly checkpoints: Checkpoints;
  readonly rights: CompletePolicy;
  readonly sandbox: Awaited<ReturnType<typeof openSandbox>>;
  readonly folder: string;
}
