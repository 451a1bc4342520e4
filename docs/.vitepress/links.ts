import { posix } from "node:path";

/**
 * The id of a heading, as forges make it: the same link then works there and on the site.
 *
 *     slugOf("What is wrong: `convoke doctor`")  // "what-is-wrong-convoke-doctor"
 */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");
}

/** The relative link of a page, as the site has it. `page` is relative to the folder `docs`. */
export function siteLink(page: string, href: string): string | undefined {
  if (isElsewhere(href)) return href;
  const [path = "", anchor] = href.split("#");
  const file = posix.join(posix.dirname(page), path);
  const example = exampleIn(file);
  if (file.startsWith("..") && example === undefined) return undefined;
  // A README is the index of its folder.
  const target =
    example === undefined
      ? path.replace(/(^|\/)README\.md$/, "$1index.md")
      : posix.relative(posix.dirname(page), `examples/${example}.md`);
  return anchor === undefined ? target : `${target}#${anchor}`;
}

/** The name of the page that a README of the examples is on the site. */
function exampleIn(file: string): string | undefined {
  const [isReadme, name = "index"] = /^\.\.\/examples\/(?:([^/]+)\/)?README\.md$/.exec(file) ?? [];
  return isReadme && name;
}

/** Whether a link leads to another site, or stays on its page. */
export function isElsewhere(href: string): boolean {
  return href.startsWith("#") || /^[a-z][a-z+.-]*:/i.test(href);
}
