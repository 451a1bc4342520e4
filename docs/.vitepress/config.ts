import { type MarkdownOptions, defineConfig } from "vitepress";
import { HOME } from "./home.ts";
import { siteLink, slugOf } from "./links.ts";
import { sidebar } from "./sidebar.ts";

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

// The name of the button for screen readers has to be what is written on it.
const SEARCH = { buttonText: "Search (Ctrl K)", buttonAriaLabel: "Search (Ctrl K)" };

export default defineConfig({
  title: "Convoke",
  description: "Host, run and call A2A agents in TypeScript.",
  lang: "en",
  head: [
    ["link", { rel: "icon", href: "/logo.svg", type: "image/svg+xml" }],
    ["meta", { name: "theme-color", content: "#4f46e5" }],
  ],
  srcExclude: ["public/**"],
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  // The index of the search is one large file, which is loaded when it is first needed.
  vite: { build: { chunkSizeWarningLimit: 5000 } },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: slugOf },
    config: useForgeLinks,
  },
  transformPageData: (page) =>
    page.relativePath === "index.md" ? { frontmatter: { layout: "home", ...HOME } } : undefined,
  themeConfig: {
    logo: { src: "/logo.svg", alt: "" },
    search: { provider: "local", options: { translations: { button: SEARCH } } },
    outline: [2, 3],
    sidebar: sidebar(),
    nav: [
      { text: "Quick start", link: "/quick-start" },
      { text: "API", link: "/api/" },
      { text: "Security", link: "/security" },
    ],
    footer: { message: "Apache-2.0" },
  },
});

/**
 * Makes the links of the pages, which are written for a forge, work on the site. A link to a file
 * outside of `docs` becomes plain text, because the site does not contain the file.
 */
function useForgeLinks(markdown: MarkdownIt): void {
  markdown.core.ruler.push("forge-links", ({ tokens, env }) => {
    const page = String((env as { readonly relativePath?: string }).relativePath ?? "");
    const links = tokens.flatMap(({ children }) => children ?? []);
    let isOutside = false;
    for (const token of links) {
      if (token.type === "link_open") {
        const link = siteLink(page, token.attrGet("href") ?? "");
        isOutside = link === undefined;
        if (link === undefined) Object.assign(token, { tag: "span", attrs: [["class", "source"]] });
        else token.attrSet("href", link);
      } else if (token.type === "link_close" && isOutside) {
        token.tag = "span";
      }
    }
  });
}
