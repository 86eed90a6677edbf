import type { TarEntry } from '@shoal/runtime'

/** Prints the progress of a long command. */
export type Progress = {
  step: (what: string) => void
  /** Returns the same entries, and counts them for the progress. */
  track: (entries: AsyncIterable<TarEntry>) => AsyncIterable<TarEntry>
}

const printIntervalMs = 5_000

/** Creates a progress that calls `print` for each step, and at most every five seconds in between. */
export function startProgress(print: (line: string) => void): Progress {
  let files = 0
  let bytes = 0
  let printedMs = performance.now()
  async function* trackEntries(entries: AsyncIterable<TarEntry>): AsyncGenerator<TarEntry> {
    for await (const entry of entries) {
      if (performance.now() - printedMs > printIntervalMs) {
        printedMs = performance.now()
        print(`  … ${files} files, ${Math.round(bytes / 1e6)} MB`)
      }
      files += 1
      bytes += entry.type === 'File' ? entry.size : 0
      yield entry
    }
  }
  return { step: (what) => print(`${what} …`), track: trackEntries }
}
