import type { ComponentChildren } from "preact";
import { Icon } from "./icon.tsx";
import { VisibleText } from "./visible-text.tsx";

const SAFE = new Set(["http:", "https:", "mailto:"]);

/** The address of a link that may be followed: web and mail, and nothing that runs in the page. */
export function safeAddress(href: string): URL | undefined {
  const url = URL.parse(href);
  return url !== null && SAFE.has(url.protocol) ? url : undefined;
}

interface SafeLinkProps {
  readonly href: string;
  readonly children?: ComponentChildren;
}

/**
 * A link that an agent wrote. It opens in a new tab without a way back, and shows the host it leads to,
 * because its text may claim another. Any other address is text.
 */
export function SafeLink({ href, children }: SafeLinkProps) {
  const url = safeAddress(href);
  if (url === undefined) {
    return (
      <>
        {children}{" "}
        <span class="muted">
          (<VisibleText text={href.slice(0, 200)} />)
        </span>
      </>
    );
  }
  return (
    <a class="safe-link" href={url.href} target="_blank" rel="noopener noreferrer">
      {children} <span class="safe-link-host">{url.host || url.pathname}</span>
      <Icon name="external" size={12} />
      <span class="visually-hidden"> (opens in a new tab)</span>
    </a>
  );
}
