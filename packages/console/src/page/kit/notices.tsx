import type { ComponentChildren } from "preact";
import { Icon } from "./icon.tsx";

/** Says that a list is empty, and what to do about it. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** Says what went wrong, with a way to try again. */
export function Problem({
  problem,
  retry,
}: {
  readonly problem: Error;
  readonly retry?: () => void;
}) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <p>{problem.message}</p>
      {retry && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A placeholder of the height of the content that is being loaded. */
export function Loading({ rows = 4 }: { readonly rows?: number }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} class="loading-row" />
      ))}
    </div>
  );
}
