/** Not shown yet. */
export function PushesPage() {
  return <div class="page" />;
}
