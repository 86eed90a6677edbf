/** Maps items by an async function, with at most `limit` calls in progress. Results are in the order of the items. */
export async function mapConcurrently<T, R>(items: T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const next = items.entries()
  const worker = async () => {
    for (const [i, item] of next) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}
