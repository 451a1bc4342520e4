import { computed, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Route, formatRoute, parseRoute } from "./route.ts";

/** The address of the console, which depends on where the server is mounted: the scripts are below it. */
export const CONSOLE_URL = new URL("..", import.meta.url);

const BASE = CONSOLE_URL.pathname.replace(/\/$/, "");

const address = signal(currentAddress());

/** The page that is shown. */
export const route = computed(() => parseRoute(address.value));

function currentAddress(): string {
  const { pathname, search } = globalThis.location;
  return (pathname.startsWith(BASE) ? pathname.slice(BASE.length) : "") + search || "/";
}

globalThis.addEventListener("popstate", () => (address.value = currentAddress()));

/** The address of a page for `href`, which also works in a new tab. */
function hrefTo(to: Route): string {
  return BASE + formatRoute(to);
}

/** Shows another page. `replaces` leaves no entry in the history, for a position that moves. */
export function navigate(to: Route, { replaces = false } = {}): void {
  const href = hrefTo(to);
  if (replaces) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  address.value = currentAddress();
  if (!replaces) globalThis.scrollTo(0, 0);
}

interface LinkProps {
  readonly to: Route;
  readonly class?: string;
  readonly title?: string | undefined;
  readonly "aria-label"?: string | undefined;
  readonly "aria-current"?: "page" | "true" | undefined;
  readonly "aria-selected"?: boolean;
  readonly "aria-controls"?: string;
  readonly id?: string;
  readonly role?: "tab";
  readonly tabIndex?: number;
  readonly children?: ComponentChildren;
}

/** A link to another page of the console. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!isPlain || event.defaultPrevented) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={hrefTo(to)} onClick={follow}>
      {children}
    </a>
  );
}
