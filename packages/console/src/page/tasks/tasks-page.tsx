/** Not shown yet. */
export function TasksPage() {
  return <div class="page" />;
}
