import { Icon } from "../kit/icon.tsx";
import { Link, route } from "../navigation/navigate.tsx";
import { about } from "../server/about.ts";
import { openApprovals } from "../server/approvals.ts";
import { type ConnectionState, connection } from "../server/feed.ts";
import { isSignedIn, signOut } from "../server/session.ts";
import { SECTIONS, type Section, isCurrent } from "./sections.ts";
import type { ShortcutActions } from "./shortcuts.ts";
import { ThemeButton } from "./theme.tsx";

/** The sections, at the side or, on phones, at the bottom. */
export function Navigation(actions: ShortcutActions) {
  return (
    <header class="side">
      <Link to={{ page: "home" }} class="brand">
        <span class="brand-mark" aria-hidden="true" />
        <span class="brand-name">Convoke</span>
      </Link>
      <button type="button" class="button side-search" onClick={actions.openPalette}>
        <Icon name="search" size={16} /> Go to… <kbd class="muted">Ctrl K</kbd>
      </button>
      <nav aria-label="Sections">
        <ul class="sections">
          {SECTIONS.map((section) => (
            <li key={section.name} class={section.isRare === true ? "rare" : undefined}>
              <SectionLink {...section} />
            </li>
          ))}
          <li class="more">
            <button type="button" class="section" popovertarget="more">
              <Icon name="down" />
              <span class="section-name">More</span>
            </button>
          </li>
        </ul>
      </nav>
      <More {...actions} />
      <Foot {...actions} />
    </header>
  );
}

function SectionLink(section: Section) {
  const { to, name, icon } = section;
  return (
    <Link
      to={to}
      class="section"
      aria-current={isCurrent(section, route.value) ? "page" : undefined}
    >
      <Icon name={icon} />
      <span class="section-name">{name}</span>
      {to.page === "approvals" && <WaitingCount />}
    </Link>
  );
}

/** How many approvals wait. */
function WaitingCount() {
  const count = openApprovals.value?.length ?? 0;
  if (count === 0) return null;
  return (
    <span class="badge waiting-count">
      {count}
      <span class="visually-hidden"> waiting</span>
    </span>
  );
}

/** What has no room in the bar of a phone. */
function More(actions: ShortcutActions) {
  const hide = (event: MouseEvent): void => (event.currentTarget as HTMLElement).hidePopover();
  return (
    <div id="more" class="more-menu card" popover="auto" onClick={hide}>
      <nav aria-label="More sections">
        <ul class="more-list">
          {SECTIONS.filter(({ isRare }) => isRare).map((section) => (
            <li key={section.name}>
              <SectionLink {...section} />
            </li>
          ))}
        </ul>
      </nav>
      <div class="more-foot">
        <button type="button" class="button quiet" onClick={actions.openPalette}>
          <Icon name="search" size={16} /> Go to…
        </button>
        <Tools {...actions} />
      </div>
      <Status />
    </div>
  );
}

function Foot(actions: ShortcutActions) {
  return (
    <div class="side-foot">
      <div class="side-tools">
        <Tools {...actions} />
      </div>
      <Status />
    </div>
  );
}

function Tools({ openHelp }: ShortcutActions) {
  return (
    <>
      <ThemeButton />
      <button
        type="button"
        class="button quiet icon-only"
        title="Keys"
        aria-label="Show the keys of the console"
        onClick={openHelp}
      >
        <kbd aria-hidden="true">?</kbd>
      </button>
      {isSignedIn() && (
        <button type="button" class="button quiet" onClick={signOut}>
          Sign out
        </button>
      )}
    </>
  );
}

const CONNECTION_NAMES: Readonly<Record<ConnectionState, string>> = {
  connecting: "Connecting",
  open: "Connected",
  lost: "Disconnected",
};

function Status() {
  return (
    <p class="side-status muted small" data-connected={connection.value}>
      {CONNECTION_NAMES[connection.value]}
      {about.value && ` · ${about.value.version}`}
    </p>
  );
}
