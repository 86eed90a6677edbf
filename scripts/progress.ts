/** Prints `doing`, runs `work`, prints the elapsed time every ten seconds, and finally prints `done` with that time. Returns the result of `work`, or rethrows its error. */
export async function withProgress<T>(doing: string, done: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  console.error(`${doing} …`)
  const ticking = setInterval(() => console.error(`  … ${seconds()} s`), 10_000)
  try {
    const result = await work()
    console.error(`${done} in ${seconds()} s.`)
    return result
  } finally {
    clearInterval(ticking)
  }
}
