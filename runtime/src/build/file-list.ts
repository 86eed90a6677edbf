import { createHash, type Hash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'

/** A file of an archive. `text` is null for binaries, long files, generated files, and files that may contain secrets. */
export type ListedFile = { path: string; bytes: number; sha256: string; text: string | null }
/** `isComplete`: false if the archive has more files than are listed. */
export type FileList = { files: ListedFile[]; isComplete: boolean }

/**
 * Limits of a list. `pathCharacters`: of all paths; `text`: bytes of one text; `sources`, `otherTexts`: bytes of all texts of that
 * kind.
 */
const limits = { files: 2000, pathCharacters: 200_000, text: 64 * 1024, sources: 768 * 1024, otherTexts: 256 * 1024 }

const SOURCE = /(?:^|\/)package\.json$|\.(?:[cm]?[jt]sx?|ya?ml|graphql|gql|sql|sh)$/
const OTHER_TEXT = /\.(?:json|md|toml|txt|html|css)$|(?:^|\/)(?:Dockerfile|\.[a-z]+ignore|\.[a-z]+rc)$/
/** Files whose text is not recorded: lockfiles and compiled code, which are long and generated, and files that may contain secrets. */
const WITHOUT_TEXT =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml)$|^(?:lib|dist|builds)\/|(?:^|\/)\.(?:env|npmrc|yarnrc)|secret|credential/i

/** Collects the files of an archive with their hashes, and the texts of sources, for a comparison with another deployment. */
export class FileLister {
  readonly list: FileList = { files: [], isComplete: true }
  #pathCharacters = 0
  #remainingBytes = { sources: limits.sources, otherTexts: limits.otherTexts }

  /** Returns two functions, to call for each chunk of the file and at its end; null if the list omits the file. */
  open(path: string, bytes: number): { add: (chunk: Buffer) => void; close: () => void } | null {
    this.#pathCharacters += path.length
    if (this.list.files.length >= limits.files || this.#pathCharacters > limits.pathCharacters) {
      this.list.isComplete = false
      return null
    }
    const hash = createHash('sha256')
    const chunks: Buffer[] | null = this.#reserveText(path, bytes) ? [] : null
    return {
      add: (chunk) => {
        hash.update(chunk)
        chunks?.push(chunk)
      },
      close: () => void this.list.files.push({ path, bytes, sha256: shortHash(hash), text: textOf(chunks) }),
    }
  }

  /** Returns whether the text of a file is recorded, and counts it towards the limits. */
  #reserveText(path: string, bytes: number): boolean {
    const kind = SOURCE.test(path) ? 'sources' : OTHER_TEXT.test(path) ? 'otherTexts' : null
    if (kind === null || WITHOUT_TEXT.test(path) || bytes > limits.text || bytes > this.#remainingBytes[kind])
      return false
    this.#remainingBytes[kind] -= bytes
    return true
  }
}

/** 128 bits, enough to distinguish files. */
const shortHash = (hash: Hash) => hash.digest('hex').slice(0, 32)

function textOf(chunks: Buffer[] | null): string | null {
  if (chunks === null) return null
  const content = Buffer.concat(chunks)
  return isUtf8(content) && !content.includes(0) ? content.toString('utf8') : null
}
