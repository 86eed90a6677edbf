/** Says that the work has begun, every ten seconds that it goes on, and when it is done. Passes its answer and its error on. */
export async function withProgress<T>(doing: string, done: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  console.error(`${doing} …`)
  const ticking = setInterval(() => console.error(`  … ${seconds()} s`), 10_000)
  try {
    const answer = await work()
    console.error(`${done} in ${seconds()} s.`)
    return answer
  } finally {
    clearInterval(ticking)
  }
}
