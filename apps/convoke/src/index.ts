/**
 * Write, serve and call agents.
 *
 * @module convoke
 */

// The package that users install. A name added here is a promise; keep it short.

// Write an agent
export {
  type AgentDefinition,
  type AskOptions,
  type AuthRequiredOptions,
  type FunctionTurn,
  NoAnswerError,
  type Step,
  type StepContext,
  StepError,
  type StepOptions,
  type StepResult,
  StepUnknownError,
  artifact,
  complete,
  defineAgent,
  fail,
  reject,
  reply,
  status,
} from "@convoke/runtime";
export {
  type Agent,
  type AgentEvent,
  type ErasureScope,
  type Message,
  type Task,
  type TaskState,
  type TaskStatus,
  type ToolGrant,
  type TracingOptions,
  agentMessage,
  textPart,
} from "@convoke/protocol";

// Make one of a program
export {
  type AgentEntry,
  type ProcessAgentOptions,
  type ProcessLimits,
  ProcessManager,
  type ProcessManagerOptions,
  type SessionEvent,
  type SessionListener,
  processAgent,
} from "@convoke/host";

// Give it a model and tools
export {
  AgentLoop,
  type AgentLoopDefinition,
  type ApprovalSettings,
  type Budget,
  type ConfirmRule,
  type Grant,
  type GrantStore,
  type Interrupt,
  type LoopHooks,
  type McpServerConfig,
  McpServers,
  type Model,
  type AgentHost,
  type FindAgentOptions,
  type ModelAgentDefinition,
  type ModelChoice,
  ModelError,
  type ModelEvent,
  type ModelOptions,
  type ModelRequest,
  type ModelSpec,
  type Persona,
  type SkillBundle,
  type SubAgentDefinition,
  type Tool,
  type ToolContext,
  type ToolTrace,
  type ToolDefinition,
  type ToolEvent,
  type Usage,
  authRequired,
  findAgentTool,
  inputRequired,
  tool,
} from "@convoke/runtime";

// Serve it
export {
  type AgentServer,
  type MountAgentOptions,
  type ServeAgentOptions,
  mount,
  serve,
} from "./host/serve-agent.ts";
export type { BlobStore, FileOptions, Replica } from "@convoke/engine";
export {
  type S3BlobStoreOptions,
  createFolderBlobStore,
  createS3BlobStore,
} from "@convoke/backends/files";
export type {
  Mounted,
  RemoteEntries,
  RemoteEntry,
  Server,
  ServerAgent,
  Interceptor as ServerInterceptor,
} from "@convoke/server";

export { type ConvokeConfig, defineConfig } from "./host/config.ts";

// Know who calls
export {
  type ApiKeysOptions,
  type AuthRequest,
  type Authenticate,
  type Authenticator,
  type AuthorizationRequest,
  type Authorize,
  type ClientCertificate,
  type JwtOptions,
  type MtlsOptions,
  apiKeys,
  bearer,
  jwt,
  mtls,
  oidc,
} from "@convoke/server";
export type { Caller, SecurityRequirement, SecurityScheme } from "@convoke/protocol";

// Call an agent
export {
  type Auth,
  type ClientTool,
  type ClientToolContext,
  type ConnectOptions,
  type Interceptor,
  type RemoteAgent,
  type Run,
  type TextPiece,
  connect,
} from "@convoke/client";
export {
  MemoryTokenStore,
  type OAuthOptions,
  type Redirect,
  type SignIn,
  type SignInPrompt,
  type StoredToken,
  type TokenStore,
} from "@convoke/client";
export { openLoopbackRedirect } from "@convoke/client/loopback-redirect";
export { storedSignIn } from "./credentials/stored-sign-in.ts";
export { ClientError, RemoteError, textOf } from "@convoke/protocol";

// Find the agents of a host
export {
  type AgentQuery,
  type FindAgentsOptions,
  type FoundAgents,
  type ListedAgent,
  findAgents,
} from "@convoke/client";

// Read its events
export type {
  A2AArtifact,
  A2ADataPart,
  A2AFilePart,
  A2APart,
  A2ATextPart,
  ArtifactUpdateEvent,
  InternalEvent,
  StatusUpdateEvent,
  TaskEvent,
} from "@convoke/protocol";

// Receive its push notifications
export {
  type PushReceiver,
  type PushReceiverOptions,
  type PushRequest,
  type Received,
  createPushReceiver,
} from "@convoke/client/push-receiver";
