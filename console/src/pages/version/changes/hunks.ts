import type { DeploymentChanges } from '@shoal/contract'
import { structuredPatch } from 'diff'

export type ChangedFile = DeploymentChanges['files'][number]
/** A line of a comparison. `before` and `after` are its line numbers in the two files; null if the file does not contain it. */
export type DiffLine = { kind: 'same' | 'added' | 'removed'; before: number | null; after: number | null; text: string }
export type Hunk = { id: string; lines: DiffLine[] }

/** A comparison that exceeds these limits is aborted, because users provide the texts, and some take quadratic time. `timeout` is in ms. */
const limits = { timeout: 500, maxEditLength: 5000 }

/** Returns the parts of a text file that differ, with three lines of context; null for binaries, and for texts with too many differences. */
export function hunksOf({ before, after }: ChangedFile): Hunk[] | null {
  const [earlier, later] = [textOf(before), textOf(after)]
  if (earlier === null || later === null) return null
  const patch = structuredPatch('', '', earlier, later, '', '', { context: 3, ...limits })
  return patch ? patch.hunks.map(({ oldStart, newStart, lines }) => hunkOf(oldStart, newStart, lines)) : null
}

/** The text of one side. A file that does not exist is empty; null if its text is not recorded. */
const textOf = (side: ChangedFile['before']): string | null => (side === null ? '' : side.text)

function hunkOf(oldStart: number, newStart: number, lines: readonly string[]): Hunk {
  let [before, after] = [oldStart, newStart]
  const numbered = lines
    // Omit the line `\ No newline at end of file`.
    .filter((line) => !line.startsWith('\\'))
    .map((line): DiffLine => {
      const text = line.slice(1)
      if (line.startsWith('+')) return { kind: 'added', before: null, after: after++, text }
      if (line.startsWith('-')) return { kind: 'removed', before: before++, after: null, text }
      return { kind: 'same', before: before++, after: after++, text }
    })
  return { id: `${oldStart} ${newStart}`, lines: numbered }
}

/** The number of added and removed lines. */
export function countLines(hunks: readonly Hunk[]): { added: number; removed: number } {
  const kinds = hunks.flatMap(({ lines }) => lines.map(({ kind }) => kind))
  return {
    added: kinds.filter((kind) => kind === 'added').length,
    removed: kinds.filter((kind) => kind === 'removed').length,
  }
}

export type Change = 'added' | 'removed' | 'changed'

/** Whether the file was added, removed or changed. */
export const changeOf = ({ before, after }: ChangedFile): Change =>
  before === null ? 'added' : after === null ? 'removed' : 'changed'

/** Sorts files: the manifest, then package.json, then texts, then files whose text is not recorded, each by path. */
export function byImportance(files: readonly ChangedFile[]): ChangedFile[] {
  const rank = ({ path, before, after }: ChangedFile) => {
    if (/^[^/]*squid[^/]*\.ya?ml$/.test(path)) return 0
    if (path === 'package.json') return 1
    return (after ?? before)?.text === null ? 3 : 2
  }
  return files.toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1))
}
