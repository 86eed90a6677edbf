import { setImmediate } from 'node:timers/promises'

/** Work on many versions lets other work of this process continue after this time, so that requests of users do not wait for it. */
const sliceMs = 5
/** Reading the clock for each item would take longer than many items do. */
const itemsPerCheck = 32

/** Calls `work` for each item, in slices of a few milliseconds. Other work runs between slices, and may change what `work` reads. */
export async function forEachInSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let startedMs = performance.now()
  let count = 0
  for (const item of items) {
    work(item)
    if (++count % itemsPerCheck !== 0 || performance.now() - startedMs < sliceMs) continue
    await setImmediate()
    startedMs = performance.now()
  }
}

/** Maps items, in slices of a few milliseconds. */
export async function mapInSlices<T, R>(items: Iterable<T>, work: (item: T) => R): Promise<R[]> {
  const results: R[] = []
  await forEachInSlices(items, (item) => results.push(work(item)))
  return results
}

/** Groups items by a key, in slices of a few milliseconds. */
export async function groupInSlices<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Promise<Map<K, T[]>> {
  const groups = new Map<K, T[]>()
  await forEachInSlices(items, (item) => {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  })
  return groups
}
