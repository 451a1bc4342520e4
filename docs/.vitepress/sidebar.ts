import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXAMPLES, readmeFor } from "./examples.ts";

const DOCS = fileURLToPath(new URL("..", import.meta.url));

/** A group of the sidebar: the paths of its pages, and groups inside of it. */
export interface Group {
  readonly title: string;
  readonly pages: readonly string[];
  readonly groups?: readonly Group[];
}

/** Every page of the site in its order. Titles are the first headings of the pages. */
export const GROUPS: readonly Group[] = [
  { title: "Start", pages: ["quick-start.md", "guide/demo.md", "guide/start.md"] },
  {
    title: "Concepts",
    pages: [
      "concepts/task-log.md",
      "concepts/states.md",
      "concepts/resumption.md",
      "concepts/durable-steps.md",
      "concepts/approvals.md",
      "concepts/budgets.md",
      "guarantees.md",
      "glossary.md",
    ],
  },
  {
    title: "Guides",
    pages: [],
    groups: [
      {
        title: "Write an agent",
        pages: [
          "guide/functions.md",
          "guide/agents-with-models.md",
          "guide/models.md",
          "guide/approvals.md",
          "guide/sub-agents.md",
          "guide/mcp.md",
          "guide/client-tools.md",
          "guide/adapters.md",
          "guide/process-agents.md",
          "guide/testing.md",
          "guide/changing-agents.md",
        ],
      },
      {
        title: "Serve it",
        pages: [
          "guide/embedding.md",
          "guide/host.md",
          "guide/authentication.md",
          "guide/push.md",
          "guide/files.md",
          "guide/mcp-server.md",
          "guide/inbound.md",
          "guide/console.md",
          "guide/read-api.md",
          "guide/tracing.md",
          "guide/cluster.md",
          "guide/runtimes.md",
        ],
      },
      {
        title: "Call agents",
        pages: [
          "guide/chat.md",
          "guide/editors.md",
          "guide/interceptors.md",
          "client/faults.md",
          "client/compat.md",
          "guide/doctor.md",
          "check/README.md",
          "check/clients.md",
          "check/ci.md",
          "check/probes.md",
        ],
      },
      {
        title: "The coding agent",
        pages: ["guide/coder.md", "guide/coder-policy.md", "guide/coder-protocol.md"],
      },
    ],
  },
  {
    title: "Examples",
    pages: [
      "examples/README.md",
      ...[
        "support-desk",
        "human-in-the-loop",
        "research-team",
        "coder-ci",
        "coder",
        "mcp-tools",
        "bridge",
        "browser-tool",
        "cluster",
      ].map((name) => `examples/${name}.md`),
    ],
  },
  {
    title: "Reference",
    pages: ["guide/cli.md", "guide/settings.md", "reference/errors.md", "guide/contracts.md"],
    groups: [
      {
        // Generated: see scripts/docs.ts.
        title: "API",
        pages: ["", "testing/", "coder/", "compat/"].map((part) => `api/convoke/${part}README.md`),
      },
      {
        title: "Extensions",
        pages: [
          "extensions/README.md",
          "extensions/resumption.md",
          "extensions/idempotency.md",
          "extensions/skill.md",
          "extensions/client-tools.md",
          "extensions/approvals.md",
          "extensions/budget.md",
          "extensions/tool-activity.md",
          "extensions/run-report.md",
          "extensions/coder.md",
        ],
      },
    ],
  },
  {
    title: "Recipes",
    pages: [
      "guide/deployment.md",
      "recipes/docker.md",
      "recipes/compose.md",
      "recipes/systemd.md",
      "recipes/nginx.md",
      "recipes/caddy.md",
      "recipes/kubernetes.md",
      "recipes/cloud-run.md",
      "recipes/oauth-proxy.md",
      "recipes/object-store.md",
    ],
  },
  {
    title: "Operating",
    pages: [
      "guide/operating.md",
      "guide/data-lifecycle.md",
      "operating/backup.md",
      "operating/upgrade.md",
      "operating/versions.md",
      "operating/monitoring.md",
      "operating/capacity.md",
    ],
  },
  { title: "Security", pages: ["security.md"] },
  { title: "Troubleshooting", pages: ["troubleshooting.md"] },
  {
    title: "Migration",
    pages: ["sdk-0.3", "sdk-1.x", "gemini", "mastra", "langgraph", "adk"].map(
      (name) => `migration/${name}.md`,
    ),
  },
  {
    title: "Comparison",
    pages: [
      "comparison.md",
      "comparison-cluster.md",
      "proof.md",
      "check/convoke.md",
      "check/sdk-1.3.0.md",
      "check/sdk-0.3.14.md",
      "check/client-convoke.md",
      "check/client-sdk-1.3.0.md",
      "check/client-sdk-0.3.14.md",
    ],
  },
  {
    title: "Architecture",
    pages: [
      "architecture/one-request.md",
      "architecture/recovery.md",
      "architecture/agent-loop.md",
      "architecture/push-and-retention.md",
      "architecture/egress.md",
    ],
    groups: [
      {
        title: "Decisions",
        pages: ["decisions/README.md", ...globSync("decisions/0*.md", { cwd: DOCS }).toSorted()],
      },
    ],
  },
];

/** An entry of VitePress' sidebar. */
interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: SidebarItem[];
}

/** The groups as VitePress wants them. A page that does not exist (yet) is left out. */
export function sidebar(): SidebarItem[] {
  return GROUPS.map(toItem);
}

function toItem({ title, pages, groups = [] }: Group): SidebarItem {
  const links = pages.filter((page) => existsSync(sourceOf(page))).map(toLink);
  const items = [...links, ...groups.map(toItem)];
  const [first] = items;
  if (items.length === 1 && first !== undefined) return { ...first, text: title };
  // A title that is no link would be a button around the button that opens the group.
  return { text: title, link: first?.link ?? "/", collapsed: true, items };
}

function toLink(page: string): SidebarItem {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(sourceOf(page), "utf8")) ?? [];
  const link = `/${page.replace(/README\.md$|\.md$/, "")}`;
  return { text: title.replaceAll("`", ""), link };
}

function sourceOf(page: string): string {
  const readme = readmeFor(page);
  return readme === undefined ? join(DOCS, page) : join(EXAMPLES, readme);
}
