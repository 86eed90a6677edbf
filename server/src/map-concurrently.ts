/** Does the work for every item, for at most `atOnce` at a time; answers in the order of the items. */
export async function mapConcurrently<T, R>(items: T[], atOnce: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const next = items.entries()
  const worker = async () => {
    for (const [i, item] of next) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return results
}
