/** Not shown yet. */
export function MetricsPage() {
  return <div class="page" />;
}
