import { quoted } from './archive-rules.ts'

export type PathKind = 'file' | 'folder' | 'link'

/** Maps the entry types of the `tar` package to kinds of paths. All other types are files. */
export const KINDS: Partial<Record<string, PathKind>> = { Directory: 'folder', SymbolicLink: 'link' }

/** The paths of an archive, including folders without their own entry. */
export class ArchivePaths {
  readonly #kinds = new Map<string, PathKind>()

  get count(): number {
    return this.#kinds.size
  }

  /**
   * Adds an entry and the folders above it. Returns the conflict with an earlier entry, as a sentence for the user; null if there is
   * none.
   */
  add(path: string, kind: PathKind): string | null {
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const conflict = this.#set(path.slice(0, end), 'folder')
      if (conflict !== null) {
        return conflict
      }
    }
    return path === '' ? null : this.#set(path, kind)
  }

  #set(path: string, kind: PathKind): string | null {
    const first = this.#kinds.get(path) ?? kind
    this.#kinds.set(path, first)
    return first === kind
      ? null
      : `The archive contains the same path twice: ${quoted(path)} is a ${first} and a ${kind}`
  }
}
