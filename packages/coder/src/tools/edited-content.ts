import type { Approval, Metadata } from "@convoke/protocol";

/**
 * The arguments with which a call leaves the content that an approver has edited, for clients that
 * send the whole new content of the file instead of arguments. Answer the approval with the option
 * `edit` and these arguments. Undefined if the approval is not about the content of a file.
 */
export function withEditedContent(
  { tool, preview }: Approval,
  content: string,
): Metadata | undefined {
  if (tool.name === "write_file") return { ...tool.arguments, content };
  if (tool.name !== "edit_file" || preview?.kind !== "diff") return undefined;
  const { before = "" } = preview as { readonly before?: string };
  return { ...tool.arguments, edits: [{ oldText: before, newText: content }] };
}
