import { askServer, unreadable } from "./ask-server.ts";
import type { CommandContext } from "./command.ts";
import { textField } from "./json-fields.ts";

/** What the server says about one approval; nobody has checked it. */
export type ApprovalReport = Readonly<Record<string, unknown>>;

/** A decision in the words of the server. */
export interface ApprovalWords {
  readonly decision: string;
  readonly feedback?: string;
  readonly arguments?: object;
}

const ABOUT = "approvals";

/** All open approvals of the caller. */
export async function listApprovals(context: CommandContext): Promise<readonly ApprovalReport[]> {
  const all: ApprovalReport[] = [];
  for (let pageToken = ""; ;) {
    const query = pageToken === "" ? "" : `?pageToken=${encodeURIComponent(pageToken)}`;
    const page = await askServer(context, { path: `/convoke/approvals${query}`, about: ABOUT });
    if (!Array.isArray(page["approvals"])) throw unreadable("names no approvals");
    all.push(...(page["approvals"] as readonly ApprovalReport[]));
    const next = textField(page, "nextPageToken");
    // A server that repeats itself would keep us here.
    if (next === "" || next === pageToken) return all;
    pageToken = next;
  }
}

/** Decides on one of them, and gives what the server says of it. */
export async function answerApproval(
  context: CommandContext,
  id: string,
  words: ApprovalWords,
): Promise<ApprovalReport> {
  const path = `/convoke/approvals/${encodeURIComponent(id)}:answer`;
  return askServer(context, { path, body: words, about: ABOUT });
}
