/** Prints `doing`, runs `work`, and prints the elapsed time every ten seconds and at the end, each with `doing`, since several works may run at the same time. Returns the result of `work`, or rethrows its error. */
export async function withProgress<T>(doing: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  console.error(`${doing} …`)
  const ticking = setInterval(() => console.error(`  … ${doing}: ${seconds()} s`), 10_000)
  try {
    const result = await work()
    console.error(`${doing}: done in ${seconds()} s.`)
    return result
  } finally {
    clearInterval(ticking)
  }
}
