/** Not shown yet. */
export function AgentsPage() {
  return <div class="page" />;
}
