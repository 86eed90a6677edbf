import type { TarEntry } from '@shoal/runtime'

/** Prints the progress of a long command. */
export type Progress = {
  step: (what: string) => void
  /** Counts the entries as they pass through. */
  track: (entries: AsyncIterable<TarEntry>) => AsyncIterable<TarEntry>
}

const everyMs = 5_000

/** Calls `print` for each step, and at most every five seconds in between. */
export function startProgress(print: (line: string) => void): Progress {
  let files = 0
  let bytes = 0
  let printedMs = performance.now()
  async function* of(entries: AsyncIterable<TarEntry>): AsyncGenerator<TarEntry> {
    for await (const entry of entries) {
      if (performance.now() - printedMs > everyMs) {
        printedMs = performance.now()
        print(`  … ${files} files, ${Math.round(bytes / 1e6)} MB`)
      }
      files += 1
      bytes += entry.type === 'File' ? entry.size : 0
      yield entry
    }
  }
  return { step: (what) => print(`${what} …`), track: of }
}
