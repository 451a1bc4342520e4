import { Empty } from "../kit/notices.tsx";
import { about } from "../server/about.ts";

/** What runs, what waits for a person, and what failed. */
export function HomePage() {
  return (
    <div class="page" data-status={about.value === undefined ? "loading" : "ready"}>
      <div class="page-head">
        <h1>Home</h1>
      </div>
      <Empty title="Nothing here yet" />
    </div>
  );
}
