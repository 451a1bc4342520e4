import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as convoke from "./index.ts";

// A deliberate pin: each name is a promise to users. If this test fails, check that the change is
// intended.
const VALUES = [
  "AgentLoop",
  "ClientError",
  "McpServers",
  "MemoryTokenStore",
  "ModelError",
  "NoAnswerError",
  "ProcessManager",
  "RemoteError",
  "StepError",
  "StepUnknownError",
  "agentMessage",
  "apiKeys",
  "artifact",
  "authRequired",
  "bearer",
  "complete",
  "connect",
  "createPushReceiver",
  "defineAgent",
  "defineConfig",
  "fail",
  "inputRequired",
  "jwt",
  "mount",
  "mtls",
  "oidc",
  "openLoopbackRedirect",
  "processAgent",
  "reject",
  "reply",
  "serve",
  "status",
  "storedSignIn",
  "textOf",
  "textPart",
  "tool",
];

const TYPES = [
  "A2AArtifact",
  "A2ADataPart",
  "A2AFilePart",
  "A2APart",
  "A2ATextPart",
  "Agent",
  "AgentDefinition",
  "AgentEvent",
  "AgentLoopDefinition",
  "AgentServer",
  "ApiKeysOptions",
  "ApprovalSettings",
  "ArtifactUpdateEvent",
  "AskOptions",
  "Auth",
  "AuthRequest",
  "AuthRequiredOptions",
  "Authenticate",
  "Authenticator",
  "AuthorizationRequest",
  "Authorize",
  "Budget",
  "Caller",
  "ClientCertificate",
  "ClientTool",
  "ClientToolContext",
  "ConfirmRule",
  "ConnectOptions",
  "ConvokeConfig",
  "FunctionTurn",
  "Grant",
  "GrantStore",
  "Interceptor",
  "InternalEvent",
  "Interrupt",
  "JwtOptions",
  "LoopHooks",
  "McpServerConfig",
  "Message",
  "Model",
  "ModelAgentDefinition",
  "ModelChoice",
  "ModelEvent",
  "ModelOptions",
  "ModelRequest",
  "ModelSpec",
  "MountAgentOptions",
  "Mounted",
  "MtlsOptions",
  "OAuthOptions",
  "ProcessAgentOptions",
  "ProcessLimits",
  "ProcessManagerOptions",
  "PushReceiver",
  "PushReceiverOptions",
  "PushRequest",
  "Received",
  "Redirect",
  "RemoteAgent",
  "Run",
  "SecurityRequirement",
  "SecurityScheme",
  "ServeAgentOptions",
  "Server",
  "ServerInterceptor",
  "SessionEvent",
  "SessionListener",
  "SignIn",
  "SignInPrompt",
  "StatusUpdateEvent",
  "StepOptions",
  "StoredToken",
  "SubAgentDefinition",
  "Task",
  "TaskEvent",
  "TaskState",
  "TaskStatus",
  "TokenStore",
  "Tool",
  "ToolContext",
  "ToolDefinition",
  "ToolEvent",
  "ToolTrace",
  "TracingOptions",
  "Usage",
];

test("the package exports these names and no others", () => {
  const source = readFileSync(new URL("index.ts", import.meta.url), "utf8");

  expect(Object.keys(convoke).toSorted()).toEqual(VALUES);
  expect(exportedTypes(source)).toEqual(TYPES);
});

/** The names in `export type { A }` and `export { type A }`. */
function exportedTypes(source: string): readonly string[] {
  const names = [...source.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(
    ([, isType, list = ""]) =>
      list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && (isType !== undefined || name.startsWith("type ")))
        .map((name) => name.replace("type ", "").replace(/^.* as /, "")),
  );
  return names.toSorted();
}
