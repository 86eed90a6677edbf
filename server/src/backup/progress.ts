import type { TarEntry } from '@shoal/runtime'

/** Prints the progress of a long command. */
export type ProgressReporter = {
  step: (what: string) => void
  /** Returns the same entries. While the caller reads them, their number and size are printed. */
  track: (entries: AsyncIterable<TarEntry>) => AsyncIterable<TarEntry>
}

const printIntervalMs = 5_000

/**
 * Creates a progress reporter. It calls `print` for each step and, while entries pass through `track`, at most every five seconds.
 */
export function createProgressReporter(print: (line: string) => void): ProgressReporter {
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
