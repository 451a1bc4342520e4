import type { A2APart } from "@convoke/protocol";
import { createTwoFilesPatch } from "diff/lib/patch/create.js";
import { type EditDetails, editPreview } from "../events/call-details.ts";
import type { ContentChange } from "../workspace/content-change.ts";

/** Longer contents are not in the preview, only their diff, in characters. */
const MAX_CONTENT = 256 * 1024;

const MAX_DIFF = 64 * 1024;

/** A diff that takes longer is left out. */
const DIFF_TIMEOUT_MS = 1000;

/** The unified diff of a change, within a limit of characters. */
export function unifiedDiff({ path, before, after }: ContentChange, limit = MAX_DIFF): string {
  const from = before === undefined ? "/dev/null" : `a/${path}`;
  const to = after === undefined ? "/dev/null" : `b/${path}`;
  const options = { context: 3, timeout: DIFF_TIMEOUT_MS };
  const diff = createTwoFilesPatch(
    from,
    to,
    before ?? "",
    after ?? "",
    undefined,
    undefined,
    options,
  );
  if (diff === undefined) return `${path}: most of the file changes; there is no short diff`;
  const text = diff.replace(/^=+\n/, "");
  return text.length <= limit
    ? text
    : `${text.slice(0, limit)}\n[the rest of the diff is left out]`;
}

/** The parts that show a change: its contents, unless they are long, and its diff. */
export function previewOf(change: ContentChange): readonly A2APart[] {
  const { type: _, ...edit } = editDetails(change);
  const text: A2APart = { kind: "text", text: edit.diff, mediaType: "text/x-diff" };
  return isLong(change) ? [text] : [editPreview(edit), text];
}

/** The same for a change that was made. */
export function editDetails(change: ContentChange): EditDetails & { readonly diff: string } {
  const { path: filePath, before, after } = change;
  const diff = unifiedDiff(change);
  if (isLong(change)) return { type: "edit", filePath, diff };
  return {
    type: "edit",
    filePath,
    ...(before !== undefined && { oldContent: before }),
    ...(after !== undefined && { newContent: after }),
    diff,
  };
}

function isLong({ before = "", after = "" }: ContentChange): boolean {
  return before.length + after.length > MAX_CONTENT;
}
