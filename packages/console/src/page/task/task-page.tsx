/** Not shown yet. */
export function TaskPage() {
  return <div class="page" />;
}
