/**
 * Prints `activity`, runs `work`, and prints the elapsed time every ten seconds and at the end, each time with `activity`, since several
 * activities may run at the same time. Returns the result of `work`, or rethrows its error.
 */
export async function withProgress<T>(activity: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  console.error(`${activity} …`)
  const ticking = setInterval(() => console.error(`  … ${activity}: ${seconds()} s`), 10_000)
  try {
    const result = await work()
    console.error(`${activity}: done in ${seconds()} s.`)
    return result
  } finally {
    clearInterval(ticking)
  }
}
