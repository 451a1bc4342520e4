import type { CommandTable, LoadCommand } from "../terminal/command.ts";

/**
 * All commands, in the order of the overview. A new command is a line here. Each is loaded on
 * demand, so that a server does not wait for what only a chat needs.
 */
export const COMMANDS: CommandTable = new Map<string, LoadCommand>([
  ["init", async () => (await import("./init.ts")).initCommand],
  ["serve", async () => (await import("./serve.ts")).serveCommand],
  ["dev", async () => (await import("./dev.ts")).devCommand],
  ["console", async () => (await import("./console.ts")).consoleCommand],
  ["code", async () => (await import("./code.ts")).codeCommand],
  ["agents", async () => (await import("./agents.ts")).agentsCommand],
  ["card", async () => (await import("./card.ts")).cardCommand],
  ["chat", async () => (await import("./chat.ts")).chatCommand],
  ["send", async () => (await import("./send.ts")).sendCommand],
  ["stream", async () => (await import("./stream.ts")).streamCommand],
  ["tasks", async () => (await import("./tasks.ts")).tasksCommand],
  ["log", async () => (await import("./log.ts")).logCommand],
  ["export", async () => (await import("./export.ts")).exportCommand],
  ["cancel", async () => (await import("./cancel.ts")).cancelCommand],
  ["erase", async () => (await import("./erase.ts")).eraseCommand],
  ["migrate", async () => (await import("./migrate.ts")).migrateCommand],
  ["backup", async () => (await import("./backup.ts")).backupCommand],
  ["restore", async () => (await import("./backup.ts")).restoreCommand],
  ["record", async () => (await import("./record.ts")).recordCommand],
  ["check", async () => (await import("./check.ts")).checkCommand],
  ["doctor", async () => (await import("./doctor.ts")).doctorCommand],
  ["database", async () => (await import("./database.ts")).databaseCommands],
  ["replicas", async () => (await import("./replicas.ts")).replicasCommand],
  ["mcp", async () => (await import("./mcp.ts")).mcpCommand],
  ["acp", async () => (await import("./acp.ts")).acpCommand],
  ["approvals", async () => (await import("./approvals.ts")).approvalsCommands],
  ["push", async () => (await import("./push.ts")).pushCommands],
  ["login", async () => (await import("./login.ts")).loginCommand],
  ["logout", async () => (await import("./credentials.ts")).logoutCommand],
  ["credentials", async () => (await import("./credentials.ts")).credentialsCommand],
  ["keys", async () => (await import("./keys.ts")).keysCommands],
  ["audit", async () => (await import("./audit.ts")).auditCommand],
  ["completion", async () => (await import("./completion.ts")).completionCommands],
]);
